"""Made by make_codes.py from codes.csv. Do not edit."""

CODES = {
    200: 'fine',
    404: 'not here',
    500: 'broken',
    418: "teapot",
}
