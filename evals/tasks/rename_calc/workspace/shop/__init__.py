from shop.prices import calc, calc_shipping
from shop.report import summary

__all__ = ["calc", "calc_shipping", "summary"]
