# SPDX-License-Identifier: GPL-2.0-only
"""Durations of one function in what ftrace's function_graph tracer writes.

Two forms are read: the text of tracefs (trace, trace_pipe), with any of the columns that the options
funcgraph-abstime, funcgraph-cpu, funcgraph-proc, funcgraph-irqs, funcgraph-tail, funcgraph-retval and
latency-format switch, and that of `trace-cmd report`. A duration is what the tracer prints: it includes the
functions called and, for each that is traced too, the tracer's own cost. The kernel cuts it to whole
ns, and to seven figures from 10 ms on.
"""

import re

__all__ = ["is_function_graph", "read"]

_US = r"(?P<us>[0-9]{1,15}(?:\.[0-9]{1,3})?)"
#: The kernel's mark for more than 10 us, 100 us, 1 ms, 10 ms, 100 ms and 1 s.
_DURATION = rf"(?:[+!#*@$]\s*)?(?:{_US} us)?\s*"
_ARROWS = r"(?P<arrow>=+>|<=+)\s*"
_LINE = re.compile(
    r"\s*(?:(?P<time>[0-9]{1,12}\.[0-9]{6,9}) \|\s*)?"
    r"(?:[0-9]{1,15} us \|\s*)?"
    r"(?:(?P<cpu>[0-9]{1,5})\)\s*)?"
    r"(?:(?P<task>[^|\s][^|]*?-[0-9]+)\s*\|\s*)?"
    r"(?:[^\s|=<]{4,8}\s*\|\s*)?"
    rf"(?:{_ARROWS}|{_DURATION})\|(?P<body>.*)",
    re.ASCII,
)
_SWITCH = re.compile(
    r"\s*(?:[0-9]+\.[0-9]+ \|\s*)?(?:(?P<cpu>[0-9]{1,5})\)\s*)?"
    r"(?P<old>[^|\s][^|]*?-[0-9]+)\s+[-=]>\s+(?P<new>[^|\s][^|]*?-[0-9]+)\s*",
    re.ASCII,
)
_LOST = re.compile(
    r"\s*CPU:\s*(?P<cpu>[0-9]{1,5}) \[(?:LOST )?(?P<lost>[0-9]{1,15}) EVENTS(?: DROPPED)?\]\s*", re.ASCII
)
_RULE = re.compile(r"\s*-{8,}\s*")
_REPORT = re.compile(
    r"\s*(?P<task>\S.*?-[0-9]+)\s+(?:\(\s*\S+\)\s+)?\[(?P<cpu>[0-9]{1,5})\]\s+(?:\S+\s+)?"
    r"(?P<time>[0-9]{1,12}\.[0-9]{6,9}):\s+(?P<event>[\w:.-]+):\s*(?P<rest>.*)",
    re.ASCII,
)
_REPORT_GRAPH = re.compile(rf"{_DURATION}\|(?P<body>.*)", re.ASCII)
_CALL = re.compile(r"(?P<name>[^\s(]+)(?: \[[^\]]*\])?\(.*\)(?P<end>;| \{)(?:\s*/\*.*\*/)?\s*")
_RETURN = re.compile(r"\}(?:\s*/\*\s*(?P<name>[^\s*=]+)[^*]*\*/)?(?:\s*\(Overruns:[^)]*\))?\s*")
#: The kernel's comments have at most 1 KiB.
_LINE_MAX = 16_384
_COMMENT = re.compile(r"/\*(?P<text>.*?)(?:\*/)?\s*")


def is_function_graph(text):
    """Whether a text's first lines are of this tracer."""
    for line in text.splitlines()[:200]:
        if "tracer: function_graph" in line or "funcgraph_entry:" in line:
            return True
        if "|" in line and " us " in line and (match := _LINE.fullmatch(line)) and match["us"]:
            return True
    return False


def read(lines, where, function):
    """Every call of a function, in the order of their ends, as plain columns.

    Parameters
    ----------
    lines : iterable of str
        The text.
    where : str
        What to call it in messages.
    function : str
        Name of the function; copies that the compiler made of it (``.isra.0``, ``.constprop.0``) count.

    Returns
    -------
    dict
        Lists of one length: ``line`` of the call, ``cpu`` and ``start_ns`` (None where the trace has no such
        column), ``ns``, ``nested`` (functions traced inside) and ``interrupted`` (bool). ``markers``:
        (line, start_ns, cpu, text) of every comment and event in between. ``unfinished``: calls without an
        end, and ends without a call; ``lost``: events that the kernel says it lost.

    Raises
    ------
    ValueError
        A line is none of this tracer's, or there are no durations.
    """
    calls = _Calls(function)
    graphs = 0
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\r\n")
        start = line.lstrip()
        if not start or start[0] == "#" or (start[0] == "-" and _RULE.fullmatch(line)):
            continue
        if len(line) > _LINE_MAX:
            raise ValueError(
                f"{where}: line {number}: {len(line)} characters: expected a line of function_graph"
            )
        before, bar, _ = line.partition("|")
        if bar and "[" not in before and (match := _LINE.fullmatch(line)):
            _line(calls, number, match, where)
            graphs += 1
        elif match := _REPORT.fullmatch(line):
            graphs += _report(calls, number, match, where)
        elif match := _LOST.fullmatch(line):
            calls.lose(_number(match["cpu"]), int(match["lost"]))
        elif match := _SWITCH.fullmatch(line):
            calls.switch(_number(match["cpu"]), match["old"], match["new"])
        elif match := _LINE.fullmatch(line):
            _line(calls, number, match, where)
            graphs += 1
        elif graphs or not _is_heading(line):
            raise ValueError(
                f"{where}: line {number}: {line.strip()[:60]!r}: expected a line of function_graph "
                "such as ' 0)   0.595 us    |  name();' with its duration"
            )
    if not graphs:
        raise ValueError(f"{where}: has no line of function_graph with the duration column")
    return calls.columns()


def _is_heading(line):
    return bool(re.match(r"\s*(cpus=|version = |trace-cmd|CPU [0-9]+ is empty)", line))


def _line(calls, number, match, where):
    """A line of tracefs."""
    at = (number, _ns(match["time"], 9), _number(match["cpu"]), match["task"])
    if match["arrow"]:
        calls.interrupt(at[2], match["task"])
    else:
        _graph(calls, at, match, where)


def _report(calls, number, match, where):
    """A line of trace-cmd report; 1 if it is of this tracer."""
    at = (number, _ns(match["time"], 9), int(match["cpu"]), match["task"])
    if match["event"] not in ("funcgraph_entry", "funcgraph_exit"):
        calls.comment(at, f"{match['event']}: {match['rest']}")
        return 0
    graph = _REPORT_GRAPH.fullmatch(match["rest"])
    if not graph:
        raise ValueError(
            f"{where}: line {number}: {match['rest'][:60]!r}: expected a duration in us, '|' and a function"
        )
    _graph(calls, at, graph, where)
    return 1


def _graph(calls, at, match, where):
    """What stands right of the bar: a call, its end, a leaf, or a comment."""
    body, us = match["body"], match["us"]
    if calls.indifferent(body):
        return
    rest = body.lstrip()
    depth = len(body) - len(rest)
    if comment := _COMMENT.fullmatch(rest):
        calls.comment(at, comment["text"].strip())
    elif (call := _CALL.fullmatch(rest)) and call["end"] == ";":
        calls.leaf(at, depth, call["name"], _ns(_needed(us, rest, at, where), 3))
    elif call:
        calls.enter(at, depth, call["name"])
    elif end := _RETURN.fullmatch(rest):
        calls.leave(at, depth, end["name"], _ns(_needed(us, rest, at, where), 3))
    else:
        raise ValueError(
            f"{where}: line {at[0]}: {rest[:60]!r}: expected 'name() {{', 'name();', '}}' or a comment"
        )


def _needed(us, rest, at, where):
    if us is None:
        raise ValueError(
            f"{where}: line {at[0]}: {rest[:60]!r} has no duration: expected one in us before '|'"
        )
    return us


def _number(text):
    return None if text is None else int(text)


def _ns(text, places):
    """Decimal seconds (9 places) or us (3) as whole ns."""
    if text is None:
        return None
    whole, _, fraction = text.partition(".")
    return int(whole) * 10**places + int((fraction or "0").ljust(places, "0"))


class _Calls:
    """Calls that are open, by task where the trace tells it and else by CPU, and those that ended."""

    def __init__(self, function):
        self.function = function
        self.open: dict = {}
        self.away: dict = {}
        self.done: list = []
        self.markers: list = []
        self.unfinished = 0
        self.lost = 0

    def _wanted(self, name):
        return name == self.function or name.startswith(f"{self.function}.")

    def indifferent(self, body):
        """Whether a line between calls can be passed over: it is not about the function, and no marker."""
        return self.function not in body and "/*" not in body and not any(self.open.values())

    def _stack(self, at):
        return self.open.setdefault(at[2] if at[3] is None else at[3], [])

    def _drop(self, stack, depth):
        """Calls whose end never came: something at their depth or outside of it follows."""
        while stack and stack[-1]["depth"] >= depth:
            stack.pop()
            self.unfinished += 1

    def enter(self, at, depth, name):
        stack = self._stack(at)
        self._drop(stack, depth)
        for call in stack:
            call["nested"] += 1
        if self._wanted(name):
            call = {"line": at[0], "start_ns": at[1], "cpu": at[2], "nested": 0, "interrupted": False}
            stack.append({**call, "depth": depth})

    def leaf(self, at, depth, name, ns):
        stack = self._stack(at)
        self._drop(stack, depth)
        for call in stack:
            call["nested"] += 1
        if self._wanted(name):
            self.done.append((at[0], at[2], at[1], ns, 0, False))

    def leave(self, at, depth, name, ns):
        stack = self._stack(at)
        self._drop(stack, depth + 1)
        if stack and stack[-1]["depth"] == depth and (name is None or self._wanted(name)):
            call = stack.pop()
            self.done.append(
                (call["line"], call["cpu"], call["start_ns"], ns, call["nested"], call["interrupted"])
            )
        elif name is not None and self._wanted(name):
            self.unfinished += 1
        else:
            self._drop(stack, depth)

    def interrupt(self, cpu, task):
        for call in self._stack((0, None, cpu, task)):
            call["interrupted"] = True

    def comment(self, at, text):
        self.markers.append((at[0], at[1], at[2], text))

    def switch(self, cpu, old, new):
        """Without a column for tasks the calls of a CPU are those of its task, which leaves now."""
        if cpu in self.open:
            self.away[old] = self.open.pop(cpu)
        if new in self.away:
            self.open[cpu] = self.away.pop(new)

    def lose(self, cpu, events):
        """Ends of calls may be among the events that were lost on a CPU."""
        self.lost += events
        for stack in (*self.open.values(), *self.away.values()):
            gone = [call for call in stack if call["cpu"] in (cpu, None)]
            self.unfinished += len(gone)
            stack[:] = [call for call in stack if call not in gone]

    def columns(self):
        left = sum(map(len, (*self.open.values(), *self.away.values())))
        names = ("line", "cpu", "start_ns", "ns", "nested", "interrupted")
        columns = {name: [row[place] for row in self.done] for place, name in enumerate(names)}
        return {**columns, "markers": self.markers, "unfinished": self.unfinished + left, "lost": self.lost}
