from kit import helpers


def column(texts):
    width = helpers.widest(texts)
    return [helpers.pad(text, width) for text in texts]
