import json
import unittest


class SettingsTest(unittest.TestCase):
    def setUp(self):
        with open("settings.json") as source:
            self.settings = json.load(source)

    def test_later_files_win(self):
        self.assertEqual(self.settings["port"], 8080)
        self.assertEqual(self.settings["workers"], 4)

    def test_null_takes_away(self):
        self.assertNotIn("proxy", self.settings)
