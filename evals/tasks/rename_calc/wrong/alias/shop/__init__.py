from shop.prices import calc, calc_shipping, order_total
from shop.report import summary

__all__ = ["calc", "calc_shipping", "order_total", "summary"]
