from shop.prices import calc_shipping, order_total
from shop.report import summary

__all__ = ["calc_shipping", "order_total", "summary"]
