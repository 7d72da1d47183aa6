"""No phone number and no address survives, whatever its digits and whatever stands between them; the sample is uniform."""

import io
import sys
import unicodedata
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.engines.evidence.sampling import Reservoir
from pytest_evalharness.engines.evidence.scrubbing import CallKeys, scrub

ALL_DIGITS = [chr(at) for at in range(sys.maxunicode + 1) if unicodedata.digit(chr(at), None) is not None]
SEPARATORS = [
    *" .-()/_,:\u00a0\u2007\u2009\u202f\u2011\u2013\u200b\u200e\u2060\ufeff\u00ad\t\n",
    "\ufe0f\u20e3",
    ") ",
    " - ",
]
letters = st.text(st.characters(categories=["Lu", "Ll", "Lo"]), max_size=12)


@st.composite
def phones(draw):
    """Seven to fifteen digits of any scripts, up to two signs between two of them, perhaps a prefix."""
    digits = draw(st.lists(st.sampled_from(ALL_DIGITS), min_size=7, max_size=15))
    between = draw(
        st.lists(st.sampled_from(["", "", *SEPARATORS]), min_size=len(digits), max_size=len(digits))
    )
    number = "".join(digit + sign for digit, sign in zip(digits, between, strict=True))
    return draw(st.sampled_from(["", "+", "\uff0b", "00", "(", "tel:"])) + number


def digits_of(text):
    return [sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.digit(sign, None) is not None]


@given(before=letters, phone=phones(), after=letters)
def test_no_digit_of_a_phone_survives(before, phone, after):
    assert digits_of(scrub(f"{before} {phone} {after}")) == digits_of(f"{before} {after}")


@given(before=letters, phone=phones(), after=letters)
def test_nor_where_it_touches_words(before, phone, after):
    left = digits_of(scrub(f"{before}{phone}{after}"))
    assert len(left) == len(digits_of(before + after))


@given(st.text())
def test_scrubbing_twice_changes_nothing_more(text):
    once = scrub(text)
    assert scrub(once) == once


@given(
    name=st.from_regex(r"[\w.+-]{1,20}", fullmatch=True), at=st.sampled_from("@\uff20\ufe6b"), before=letters
)
def test_no_address_survives(name, at, before):
    left = scrub(f"{before} {name}{at}example.com. Thanks")
    assert "@" not in unicodedata.normalize("NFKC", left)
    assert "example" not in left
    assert left.endswith("Thanks")


@given(
    order=st.permutations(range(40)), size=st.integers(1, 50), seed=st.integers(0, 99), twice=st.booleans()
)
def test_the_sample_follows_from_ids_and_seed_alone(order, size, seed, twice):
    keys = CallKeys(b"a secret of some length", "acme", seed)

    def sampled(ids):
        spool = io.BytesIO()
        reservoir = Reservoir(size, spool, lambda call: call.encode())
        for line, one in enumerate(ids):
            _, number = keys.of(str(one))
            if reservoir.wants(number):
                reservoir.keep(number, line, f"[{one}]")
        content = spool.getvalue
        return [content()[at : at + length].decode() for at, length in reservoir.entries()]

    found = sampled(order)
    assert len(found) == min(size, 40)
    assert set(found) == set(sampled(range(40)))
    assert found == [f"[{one}]" for one in order if f"[{one}]" in found]  # in the order of the export


def test_every_call_is_sampled_as_often_as_any_other():
    """8 of 40, for 2,000 seeds: chi-squared over the calls, below its 99.9 % point; and so for pairs of neighbours."""
    seeds, calls, size = 2_000, 40, 8
    seen, together = Counter(), 0
    for seed in range(seeds):
        keys = CallKeys(b"a secret of some length", "acme", seed)
        reservoir = Reservoir(size, io.BytesIO(), str.encode)
        for line in range(calls):
            _, number = keys.of(f"C-{line}")
            if reservoir.wants(number):
                reservoir.keep(number, line, "x")
        kept = {line for _, line in reservoir._heap}
        seen.update(kept)
        together += sum(line + 1 in kept for line in kept)
    expected = seeds * size / calls
    spread = sum((seen[line] - expected) ** 2 for line in range(calls)) / (expected * (1 - size / calls))
    assert spread < 72.1  # of chi-squared with 39 degrees of freedom
    pairs = seeds * (calls - 1) * size * (size - 1) / (calls * (calls - 1))
    assert abs(together - pairs) < 4 * pairs**0.5
