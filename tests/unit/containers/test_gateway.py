"""The host's own address on a network of containers, as engines tell it or leave it out."""

import pytest

from pytest_evalharness.containers.state import gateway_of


@pytest.mark.parametrize(
    ("addresses", "found"),
    [
        ([{"Subnet": "172.17.0.0/16", "Gateway": "172.17.0.9"}], "172.17.0.9"),
        ([{"Subnet": "172.17.0.0/16", "Gateway": "172.17.0.9/16"}], "172.17.0.9"),
        ([{"Subnet": "172.17.0.0/16"}], "172.17.0.1"),
        ([{"Subnet": "fd00::/64"}, {"Subnet": "10.1.2.0/24", "Gateway": "10.1.2.3"}], "10.1.2.3"),
        ([{"Subnet": "no subnet"}], None),
        ([{}], None),
        ([], None),
        (None, None),
    ],
)
def test_it_is_what_the_engine_names_or_the_first_address_of_its_subnet(addresses, found):
    assert gateway_of(addresses) == found
