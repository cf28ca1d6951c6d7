from kit import texts as text_tools


def column(texts):
    width = text_tools.widest(texts)
    return [text_tools.pad(text, width) for text in texts]
