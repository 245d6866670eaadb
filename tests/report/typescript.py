"""TypeScript types of a page's data: python tests/report/typescript.py >
web/data.d.ts.
"""

from typing import Any

from headway.report.schema import ADAPTER


def typescript() -> str:
    """An interface for every class of the schema, and the union of all pages."""
    lines = [
        "// By tests/report/typescript.py from src/headway/report/schema.py, which "
        "documents it.",
        "",
    ]
    schema = ADAPTER.json_schema(mode="serialization")
    for name, one in schema["$defs"].items():
        lines += [f"export interface {name} {{"]
        lines += [
            f"  {field}: {_type(hint)};" for field, hint in one["properties"].items()
        ]
        lines += ["}", ""]
    pages = " | ".join(map(_type, schema["oneOf"]))
    return "\n".join([*lines, f"export type Page = {pages};", ""])


def _type(hint: dict[str, Any]) -> str:
    """A type as TypeScript writes it."""
    match hint:
        case {"$ref": name}:
            return name.rpartition("/")[2]
        case {"const": value}:
            return f'"{value}"'
        case {"enum": values}:
            return " | ".join(f'"{value}"' for value in values)
        case {"anyOf": choices}:
            return " | ".join(dict.fromkeys(map(_type, choices)))
        case {"type": "array", "prefixItems": parts}:
            return f"[{', '.join(map(_type, parts))}]"
        case {"type": "array", "items": inner}:
            one = _type(inner)
            return f"({one})[]" if " | " in one else f"{one}[]"
        case {"type": "object", "additionalProperties": inner}:
            return f"Record<string, {_type(inner)}>"
        case {"type": name}:
            return "number" if name == "integer" else name
    raise ValueError(f"no type in TypeScript for {hint}")


if __name__ == "__main__":
    print(typescript(), end="")
