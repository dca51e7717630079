/** Merges the `/metrics` of several workers (https://prometheus.io/docs/instrumenting/exposition_formats/). */

type Rule = (a: number, b: number) => number

/** Metrics of the event log, which all workers share. */
const ofLog = /^portico_event_log_(oldest_id|newest_id|bytes)$/

const sum: Rule = (a, b) => a + b
const highest: Rule = Math.max
const lowest: Rule = Math.min

const flags: ReadonlySet<string> = new Set(['nodejs_version_info', 'portico_overloaded'])

/** How to merge a metric that every worker reports. Metrics of the whole process are the same in each report. */
function ruleOf(name: string): Rule {
  if (name.endsWith('_up')) return lowest
  if (name.startsWith('process_') || flags.has(name)) return highest
  const isHighest = name.startsWith('nodejs_eventloop_lag') || name.endsWith('_lag_bytes') || ofLog.test(name)
  return isHighest ? highest : sum
}

interface Family {
  /** `# HELP` and `# TYPE`. */
  readonly comments: readonly string[]
  /** The samples, by name and labels. */
  readonly samples: Map<string, number>
}

const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?) ([^ ]+)(?: \d+)?$/

function familyOf(families: Map<string, Family>, name: string, comments: readonly string[]): Family {
  const known = families.get(name)
  if (known) return known
  const family = { comments, samples: new Map<string, number>() }
  families.set(name, family)
  return family
}

function add(families: Map<string, Family>, text: string): void {
  let comments: string[] = []
  let name = ''
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) {
      const of = line.split(' ')[2] ?? ''
      comments = of === name ? [...comments, line] : [line]
      name = of
      continue
    }
    const [, key = '', value = ''] = sample.exec(line) ?? []
    if (key === '') continue
    const { samples } = familyOf(families, name, comments)
    const known = samples.get(key)
    const number = Number(value.replace('Inf', 'Infinity'))
    samples.set(key, known === undefined ? number : ruleOf(name)(known, number))
  }
}

/** The counters, histograms and summaries in a text: they never decrease. */
export function countersIn(text: string): string {
  const families = new Map<string, Family>()
  add(families, text)
  const isMonotonic = ([, { comments }]: [string, Family]) =>
    comments.some(comment => /^# TYPE \S+ (counter|histogram|summary)$/.test(comment))
  return textOfFamilies([...families].filter(isMonotonic).map(([, family]) => family))
}

function textOf(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

/** Adds up counters, histograms and most gauges. Metrics of the process are reported by every worker, and counted once. */
export function merged(texts: readonly string[]): string {
  const families = new Map<string, Family>()
  for (const text of texts) add(families, text)
  return textOfFamilies([...families.values()])
}

function textOfFamilies(families: readonly Family[]): string {
  const lines: string[] = []
  for (const { comments, samples } of families) {
    lines.push(...comments)
    for (const [key, value] of samples) lines.push(`${key} ${textOf(value)}`)
  }
  return `${lines.join('\n')}\n`
}
