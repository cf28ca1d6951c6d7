import sys

source, target = sys.argv[1:3]
keep = False
with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as result:
    for line in lines:
        if not line.startswith("    "):
            words = line.split()
            keep = len(words) > 2 and words[2] == "ERROR"
        if keep:
            result.write(line)
