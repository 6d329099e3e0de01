"""The tables of perf/compare.py, from its figures alone."""

import statistics

from compare_cases import GROWING
from paper_times import published_ms

TITLES = {
    "train-step": "Training step (forward, backward, optimiser)",
    "series": "Training step of models of series (forward, backward, optimiser)",
    "forward": "Forward (prediction for one batch)",
    "attention": "Attention alone",
    "convolution": "Convolution alone",
    "data": "One batch of training data",
    "scaling": "Forward as targets grow, one task, 100 context points",
    "scaling-context": "Forward as the context grows, one task, 100 targets",
    "goals": "Goals (for one H200, products in bf16)",
}
MEMORY = ("peak_live_bytes", "peak_reserved_bytes")


def quantile(values, q):
    """The nearest of them."""
    return sorted(values)[int(q * (len(values) - 1) + 0.5)]


def name_of(contestant):
    return f"{contestant['program']} {contestant['variant']}".strip()


def rounds_of(contestant, busy=False):
    return [r for r in contestant["rounds"] if r["busy"] == busy]


def pooled(contestant, key, busy=False):
    return [ms for r in rounds_of(contestant, busy) for ms in r[key]]


def median_ms(contestant, busy=False):
    return statistics.median(pooled(contestant, "wall_ms", busy))


def paired_ratio(a, b):
    """Median over the idle rounds of a's median time over b's in the same round."""
    pairs = zip(rounds_of(a), rounds_of(b))
    return statistics.median(statistics.median(x["wall_ms"]) / statistics.median(y["wall_ms"]) for x, y in pairs)


def find(result, program, variant, threads):
    for c in result["contestants"]:
        if (c["program"], c["variant"], c["threads"]) == (program, variant, threads):
            return c
    return None


def ours(result, threads):
    return find(result, "npzoo", "", threads)


def peers(result, threads):
    return [c for c in result["contestants"] if c["program"] != "npzoo" and c["threads"] == threads]


def table(header, lines):
    return "\n".join(["| " + " | ".join(map(str, line)) + " |"
                      for line in [header, ["---"] + ["---:"] * (len(header) - 1), *lines]]) + "\n"


def number(value):
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def ratio(value):
    return f"{value:.2f}"


def peak_of(record, threads, key="peak_gflops"):
    return statistics.median(row[key] for row in record["peaks"] if row["threads"] == threads)


def on_gpu(record):
    return record.get("gpu") is not None


def peak_bytes(contestant, key):
    """None where it does not tell."""
    known = [r[key] for r in contestant["rounds"] if r.get(key) is not None]
    return max(known) if known else None


def megabytes(value):
    return "" if value is None else number(value * 1e-6)


def published(result):
    """Returns the figure of the TNP-KR paper, on another GPU."""
    vary = GROWING.get(result["suite"])
    if not vary:
        return ""
    settings = result["settings"]
    ms = published_ms("test" if vary == "targets" else vary, settings["model"], settings[vary])
    return "" if ms is None else f"*{number(ms)}*"


def summary_table(record, results):
    lines = []
    paper = on_gpu(record) and any(map(published, results))
    for result in results:
        for threads in record["options"]["threads"]:
            mine = ours(result, threads)
            others = sorted(peers(result, threads), key=median_ms)
            if not mine or not (others or paper):
                continue
            beside = [""] * 4
            if others:
                best = others[0]
                beside = [best["variant"], number(median_ms(best)), ratio(paired_ratio(best, mine)),
                          ratio(median_ms(best) / median_ms(mine))]
            lines.append([result["case"], threads, number(median_ms(mine)), *beside, *[published(result)] * paper])
    header = ["case", "threads", "npzoo, ms", "fastest of PyTorch", "its ms", "its time / npzoo's, paired",
              "of medians", *["*TNP-KR paper, RTX 4090, ms*"] * paper]
    return table(header, lines) + "\n" if lines else ""


def speed(record, contestant, gflop):
    """GFLOP/s and its share of the peak, in print."""
    if not gflop:
        return ["", ""]
    gflops = gflop / median_ms(contestant) * 1e3
    return [f"{gflops:.1f}", f"{100 * gflops / peak_of(record, contestant['threads']):.0f} %"]


def case_table(record, result):
    fewest = record["options"]["threads"][0]
    lines = []
    for c in result["contestants"]:
        mine = ours(result, c["threads"])
        single = find(result, c["program"], c["variant"], fewest)
        wall = pooled(c, "wall_ms")
        ratios = ["", ""]
        if mine and c is not mine:
            ratios = [ratio(paired_ratio(c, mine)), ratio(median_ms(c) / median_ms(mine))]
        speedup = ratio(paired_ratio(single, c)) if single and c is not single else ""
        memory = [megabytes(peak_bytes(c, key)) for key in MEMORY] if on_gpu(record) else []
        lines.append([name_of(c), c["threads"], number(statistics.median(wall)), number(quantile(wall, 0.1)),
                      number(quantile(wall, 0.9)), number(statistics.median(pooled(c, "cpu_ms"))),
                      *speed(record, c, result["contestants"][0]["description"].get("gflop")), *ratios, speedup,
                      *memory])
    header = ["program", "threads", "ms", "p10", "p90", "CPU ms", "GFLOP/s", "of peak", "time / npzoo's, paired",
              "of medians", f"speed-up over {fewest} thread(s)", *(["live MB", "reserved MB"] if on_gpu(record) else [])]
    skipped = "".join(f"\nSkipped: {name_of(row)}, {row['threads']} thread(s): {row['reason']}.\n"
                      for row in result["skipped"])
    return table(header, lines) + skipped


def goals_table(results):
    """A share of 100 % and more: the goal is reached."""
    lines = []
    for result in results:
        mine = next((c for c in result["contestants"] if c["program"] == "npzoo"), None)
        if "goal" not in result or not mine:
            continue
        goal, live = result["goal"], peak_bytes(mine, MEMORY[0])
        memory = ["", "", ""]
        if "bytes" in goal:
            memory = [megabytes(goal["bytes"]), megabytes(live), f"{100 * goal['bytes'] / live:.0f} %" if live else ""]
        lines.append([result["case"], number(goal["ms"]), number(median_ms(mine)),
                      f"{100 * goal['ms'] / median_ms(mine):.0f} %", *memory])
    header = ["case", "goal, ms", "npzoo, ms", "share of the goal", "goal, MB", "npzoo, live MB", "share of the goal"]
    return table(header, lines) + "\n" if lines else ""


def busy_table(record, result):
    """A core that is wholly lost explains a time up to that of one thread on an idle machine."""
    lines = []
    fewest = record["options"]["threads"][0]
    for c in result["contestants"]:
        single = find(result, c["program"], c["variant"], fewest)
        if not rounds_of(c, busy=True):
            continue
        idle, busy = median_ms(c), median_ms(c, busy=True)
        busy_p90 = quantile(pooled(c, "wall_ms", busy=True), 0.9)
        lines.append([name_of(c), c["threads"], number(idle), number(busy), number(busy_p90), ratio(busy / idle),
                      ratio(busy / median_ms(single)) if single else ""])
    header = ["program", "threads", "idle, ms", "busy, ms", "busy p90", "busy / idle",
              f"busy / idle with {fewest} thread(s)"]
    return "\nBeside a busy core:\n\n" + table(header, lines) if lines else ""


def deviation(values, expected):
    return max((abs(a - b) / abs(b) for a, b in zip(values, expected)), default=0)


def agreement_table(results):
    lines = []
    for result in results:
        others = [c for c in result["contestants"] if c["program"] != "npzoo" and c["loss"] is not None]
        if not others:
            continue
        mine = result["contestants"][0]
        first = max(deviation([c["loss"]], [mine["loss"]]) for c in others)
        later = max(deviation(c["losses"], mine["losses"]) for c in others)
        lines.append([f"{result['suite']} {result['case']}", mine["description"].get("parameters", ""),
                      f"{mine['loss']:.6g}", f"{first:.1e}", f"{later:.1e}" if mine["losses"] else ""])
    if not lines:
        return ""
    header = ["case", "parameters", "npzoo's loss", "largest relative deviation", "of the losses of the first updates"]
    return ("\n## Agreement\n\nWith equal weights; the programs have equally many parameters. \"Loss\" of attention and\n"
            "convolutions is the mean square of the output and of each gradient, added up.\n\n" + table(header, lines))


def suite_section(record, suite):
    results = [result for result in record["results"] if result["suite"] == suite]
    if not results:
        return ""
    text = f"\n## {TITLES[suite]}\n\n{goals_table(results)}{summary_table(record, results)}"
    for result in results:
        settings = ", ".join(f"{key} {value}" for key, value in result["settings"].items())
        text += f"### {result['case']}\n\n{settings}\n\n{case_table(record, result)}{busy_table(record, result)}\n"
    return text.rstrip("\n") + "\n"


def peers_in_words(record):
    for result in record["results"]:
        for c in result["contestants"]:
            if c["program"] != "npzoo":
                d = c["description"]
                if on_gpu(record):
                    return f"\nPyTorch {d['version']} (CUDA {d['cuda']}, cuDNN {d['cudnn']})."
                return f"\nPyTorch {d['version']} (BLAS {d['blas']}, {d['isa']}, one inter-op thread)."
    return ""


def gpu_in_words(record):
    if not on_gpu(record):
        return ""
    gpu = record["gpu"]
    driver = f", driver {gpu['driver']}" if gpu["driver"] else ""
    return f"""
{gpu['name']}{driver}, for CUDA {gpu['driver_cuda']}; matrix products in {record['options']['precision']}. Each repetition is timed until
the GPU has done its work."""


def failures(record):
    lines = "".join(f"- {row['suite']} {row['case']}: {row['reason']}\n" for row in record.get("failed", []))
    return f"\n## Failed\n\n{lines}" if lines else ""


def head(record):
    machine, options, npzoo = record["machine"], record["options"], record["npzoo"]
    precision = options.get("precision", "float32")
    peaks = "; ".join(f"{threads} thread(s): {peak_of(record, threads):.0f} GFLOP/s in {precision}, "
                      f"{peak_of(record, threads, 'bandwidth_gbs'):.0f} GB/s" for threads in options["threads"])
    environment = ", ".join(f"{key}={value}" for key, value in record["environment"].items()) or "nothing that matters"
    return f"""# npzoo{' and PyTorch' if peers_in_words(record) else ''}, timed in turn, {record['date']}

{machine['processor']}, {machine['cores']} cores, {machine['system']} {machine['kernel']}.{gpu_in_words(record)}
npzoo {npzoo['version']}, commit {npzoo['commit']}, {npzoo['isa']}, {npzoo['compiler']}.{peers_in_words(record)}
Environment: {environment}.

The machine reaches (median over the run): {peaks}.

All programs take turns: {options['rounds']} rounds (fewer where targets grow) of a slice of {options['slice_s']} s each, or of one
repetition that takes longer. Times are of one repetition, over all rounds. "Paired": the median over rounds of the ratio
of medians within a round. "CPU ms": of all threads. GFLOP/s count npzoo's matrix products, whoever computes them.
"""


def report(record):
    """Markdown."""
    suites = "".join(suite_section(record, suite) for suite in TITLES)
    return head(record) + suites + failures(record) + agreement_table(record["results"])
