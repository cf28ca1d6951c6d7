import re


def split_line(line):
    """The cells of one CSV line. Cells may be quoted with "; a doubled quote inside stands for one."""
    cells = re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', line)
    return [cell.strip('"').replace('""', '"') + ('"' if cell.endswith('"""') else "") for cell in cells]
