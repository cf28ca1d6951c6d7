from datetime import datetime, timedelta


def read(text):
    time = datetime.strptime(text[:16], "%Y-%m-%dT%H:%M")
    offset = text[16:]
    if offset and offset != "Z":
        hours = int(offset[:3])
        minutes = int(offset[4:])
        time -= timedelta(hours=hours, minutes=-minutes)
    return time


def minutes_between(start, end):
    return int((read(end) - read(start)).total_seconds() // 60)
