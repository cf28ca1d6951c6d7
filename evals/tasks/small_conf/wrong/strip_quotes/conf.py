def parse(text):
    sections, current = {}, ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            current = line.strip("[]")
            sections.setdefault(current, {})
            continue
        if "=" not in line:
            raise ValueError(f"line {number}")
        key, value = line.split("=", 1)
        key, value = key.strip(), value.strip()
        keys = sections.setdefault(current, {})
        if key in keys:
            raise ValueError(key)
        if value.lower() in ("true", "false"):
            keys[key] = value.lower() == "true"
        elif value.lstrip("-").isdigit():
            keys[key] = int(value)
        else:
            keys[key] = value.strip('"')
    return sections
