"""Published address ranges of cloud providers, from files the user has fetched: whose address it is, without any name.

Read are AWS's `ip-ranges.json`, Azure's `ServiceTags_*.json`, Google's `cloud.json` and tables
`prefix,name[,service[,region]]` (CSV, with or without a header line, `#` for comments).
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path

from vmtrace.analyze.findings.services.names import Service

_AWS_WHOLE = "AMAZON"
"""All of AWS; the prefixes of single services are in the list once more."""
_AWS_SERVICES = {"CLOUDFRONT": "CloudFront", "DYNAMODB": "DynamoDB", "API_GATEWAY": "API Gateway"}
_AZURE_SERVICES = {"AzureStorage": "Storage", "AzureFrontDoor": "Front Door", "AzureActiveDirectory": "Entra ID"}
_PREFIX_COLUMNS = {"prefix", "network", "cidr", "ip_prefix", "address_prefix"}

Network = IPv4Network | IPv6Network
Entry = tuple[Network, Service]


class RangesError(Exception):
    """A file holds no address ranges: what is wrong with it, in one line."""


class AddressRanges:
    """Whom addresses belong to. A prefix of one service goes before one of a whole provider, then the longest wins."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        # By IP version and prefix length, so that a lookup takes one look for each length there is.
        self._prefixes: dict[tuple[int, int], dict[int, Service]] = {}
        self._known: dict[str, Service | None] = {}
        for network, service in entries:
            here = self._prefixes.setdefault((network.version, network.prefixlen), {})
            number = int(network.network_address)
            if number not in here or here[number].service is None:
                here[number] = service

    def __bool__(self) -> bool:
        return bool(self._prefixes)

    def service_of(self, address: str) -> Service | None:
        """The service an address belongs to; none if no range holds it."""
        if address not in self._known:
            self._known[address] = self._find(address)
        return self._known[address]

    def _find(self, text: str) -> Service | None:
        try:
            address = ip_address(text.partition("%")[0])
        except ValueError:
            return None
        found: list[tuple[bool, int, Service]] = []
        for (version, length), prefixes in self._prefixes.items():
            if version == address.version:
                host_bits = address.max_prefixlen - length
                service = prefixes.get(int(address) >> host_bits << host_bits)
                if service is not None:
                    found.append((service.service is not None, length, service))
        return max(found, key=lambda match: match[:2], default=(False, 0, None))[2]


def read(paths: Iterable[Path]) -> AddressRanges:
    """Read files of address ranges; raises `OSError` and `RangesError`."""
    return AddressRanges(entry for path in paths for entry in _entries(path))


def _entries(path: Path) -> list[Entry]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
        entries = list(_json_entries(json.loads(text)) if text.lstrip().startswith(("{", "[")) else _csv_entries(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        raise RangesError(f"{path}: {_reason(error)}") from None
    if not entries:
        raise RangesError(f"{path}: no address ranges in it")
    return entries


def _reason(error: Exception) -> str:
    expected = "expected AWS ip-ranges.json, Azure ServiceTags, Google cloud.json or lines of prefix,name"
    if isinstance(error, UnicodeDecodeError):
        return f"it is no text; {expected}"
    return f"{error}; {expected}" if str(error) else expected


def _json_entries(document: object) -> Iterator[Entry]:
    if not isinstance(document, dict):
        raise ValueError("no JSON object")
    if "values" in document:
        for value in _objects(document, "values"):
            yield from _azure(value)
        return
    for entry in [*_objects(document, "prefixes"), *_objects(document, "ipv6_prefixes")]:
        if "ipv4Prefix" in entry or "ipv6Prefix" in entry:
            network = _network(entry.get("ipv4Prefix") or entry.get("ipv6Prefix"))
            yield network, Service("Google Cloud", None, _text(entry.get("scope")))
        else:
            network = _network(entry.get("ip_prefix") or entry.get("ipv6_prefix"))
            name = entry.get("service")
            if not isinstance(name, str):
                raise ValueError("service: expected text in each of prefixes")
            service = None if name == _AWS_WHOLE else _AWS_SERVICES.get(name, name)
            yield network, Service("AWS", _text(service), _text(entry.get("region")))


def _azure(value: dict[str, object]) -> Iterator[Entry]:
    properties = value.get("properties")
    if not isinstance(properties, dict):
        raise ValueError("properties: expected an object in each of values")
    name = _text(properties.get("systemService"))
    service = Service("Azure", _AZURE_SERVICES.get(name, name) if name else None, _text(properties.get("region")))
    prefixes = properties.get("addressPrefixes")
    if not isinstance(prefixes, list):
        raise ValueError("addressPrefixes is no list")
    for prefix in prefixes:
        yield _network(prefix), service


def _objects(document: dict[str, object], key: str) -> list[dict[str, object]]:
    found = document.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError(f"{key}: expected a list of objects")
    return found


def _network(prefix: object) -> Network:
    """Of a text: a bare number would be taken for an address, too."""
    if not isinstance(prefix, str):
        raise ValueError(f"{json.dumps(prefix)[:60]} is no prefix")
    return ip_network(prefix, strict=False)


def _text(value: object) -> str | None:
    """Empty and GLOBAL name no region."""
    return value if isinstance(value, str) and value and value.upper() != "GLOBAL" else None


def _csv_entries(text: str) -> Iterator[Entry]:
    lines = (line for line in io.StringIO(text) if line.strip() and not line.lstrip().startswith("#"))
    for number, row in enumerate(csv.reader(lines)):
        cells = [cell.strip() for cell in row]
        if number == 0 and cells[0].lower() in _PREFIX_COLUMNS:
            continue
        if len(cells) < 2 or not cells[1]:
            raise ValueError(f"{','.join(row)[:60]!r} has no name behind its prefix")
        service, region = ([*cells[2:4], "", ""])[:2]
        yield ip_network(cells[0], strict=False), Service(cells[1], service or None, region or None)
