def mask_phone(phone):
    if len(phone) != 11 or not (phone.isascii() and phone.isdigit()):
        raise ValueError("不是 11 位数字")
    return phone[:3] + "****" + phone[7:]
