"""Conditions on data that a static capture assumed, tried the other way: what one side alone runs is an upper bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from opscope._load import native

_SITES = 8  # conditions that are tried both ways
_OPS = 200_000  # that the other ways may have in all


class Site(NamedTuple):
    """A place in the model's code that asked for a condition on data."""

    where: str  # "/path/model.py:42"; "" where that is not known
    answer: bool
    is_given: bool  # by the user
    first_op: int  # that follows


def costliest(run: Any, capture: Callable[[], Any]) -> Any:
    """The costliest of a model's captures, each with one condition more answered the other way.

    A condition whose other answer makes the model raise is a check: it changes no number. Where the other way cannot be
    followed, and where the user says how a condition turns out, what comes after it is an estimate.
    """
    best = capture()
    if not run.sites:
        return best
    sites, others, seen, ops = run.sites, [], set[str](), 0
    unsure: dict[str, Site] = {}
    while site := next((site for site in sites if site.where not in seen), None):
        seen.add(site.where)
        if site.is_given or not site.where or len(seen) > _SITES or ops > _OPS:
            unsure[site.where] = site
            continue
        answers, run.tried = run.tried, {**run.tried, site.where: not site.answer}
        try:
            other = capture()
        except native.Error as problem:
            run.tried = answers
            if not getattr(problem, "is_raised", False):
                unsure[site.where] = site
            continue
        ops += len(other)
        if all(now.answer is site.answer for now in run.sites if now.where == site.where):
            run.tried = answers  # it made the model raise, and was put back
            if not all(getattr(problem, "is_raised", False) for problem in run.raised):
                unsure[site.where] = site
            continue
        if other.costs_more_than(best):
            best, other, sites = other, best, run.sites
        else:
            run.tried = answers
        others.append(other)
    for other in others:
        best.bound_by(other)
    for site in sites:
        if site.where in unsure:
            best.assume_from(site.first_op)
    return best
