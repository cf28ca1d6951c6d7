def tally(text):
    counts = {}
    for word in text.lower().split():
        word = word.rstrip(".,!?;:")
        if word:
            counts[word] = counts.get(word, 0) + 1
    return counts
