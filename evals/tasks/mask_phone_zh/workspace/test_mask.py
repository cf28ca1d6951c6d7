import unittest

from mask import mask_phone


class MaskTest(unittest.TestCase):
    def test_mask(self):
        self.assertEqual(mask_phone("13812345678"), "138****5678")
        self.assertEqual(mask_phone("19900001111"), "199****1111")

    def test_wrong_length(self):
        with self.assertRaises(ValueError):
            mask_phone("1381234567")

    def test_letters(self):
        with self.assertRaises(ValueError):
            mask_phone("1381234567a")
