import json
import unittest


class PeopleTest(unittest.TestCase):
    def test_people(self):
        with open("people.json", encoding="utf-8") as source:
            people = json.load(source)
        self.assertEqual(len(people), 4)
        self.assertEqual(people[0], {"name": "Ada Brook", "age": 36, "city": "Leeds"})
        self.assertEqual(people[1]["name"], "Okafor, Ben")
