from kit.texts import pad, widest


def column(texts):
    width = widest(texts)
    return [pad(text, width) for text in texts]
