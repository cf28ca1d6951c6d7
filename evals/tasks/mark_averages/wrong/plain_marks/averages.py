import csv
import json

with open("best.json", encoding="utf-8") as source:
    best = json.load(source)
percents = {}
with open("marks.csv", encoding="utf-8", newline="") as source:
    for row in csv.DictReader(source):
        percents.setdefault(row["name"], []).append(float(row["mark"]))
with open("averages.csv", "w", encoding="utf-8", newline="") as target:
    writer = csv.writer(target)
    writer.writerow(["name", "average"])
    for name in sorted(percents):
        writer.writerow([name, round(sum(percents[name]) / len(percents[name]), 1)])
