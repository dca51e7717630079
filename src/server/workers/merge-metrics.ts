/** Merges the `/metrics` of several workers (https://prometheus.io/docs/instrumenting/exposition_formats/). */

type Rule = (a: number, b: number) => number

/** Metrics of the event log, which all workers share. */
const eventLogMetric = /^portico_event_log_(oldest_id|newest_id|bytes)$/

const sum: Rule = (a, b) => a + b
const highest: Rule = Math.max
const lowest: Rule = Math.min

const maximumMetrics: ReadonlySet<string> = new Set(['nodejs_version_info', 'portico_overloaded'])

/** How to merge a metric that every worker reports. Metrics of the whole process are the same in each report. */
function ruleFor(name: string): Rule {
  if (name.endsWith('_up')) return lowest
  if (name.startsWith('process_') || maximumMetrics.has(name)) return highest
  const isHighest =
    name.startsWith('nodejs_eventloop_lag') || name.endsWith('_lag_bytes') || eventLogMetric.test(name)
  return isHighest ? highest : sum
}

interface Family {
  /** `# HELP` and `# TYPE`. */
  readonly comments: readonly string[]
  /** The samples, by name and labels. */
  readonly samples: Map<string, number>
}

const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?) ([^ ]+)(?: \d+)?$/

function familyOf(families: Map<string, Family>, name: string, comments: readonly string[]): Family {
  const existing = families.get(name)
  if (existing) return existing
  const family = { comments, samples: new Map<string, number>() }
  families.set(name, family)
  return family
}

function addSamples(families: Map<string, Family>, text: string): void {
  let comments: string[] = []
  let name = ''
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) {
      const metricName = line.split(' ')[2] ?? ''
      comments = metricName === name ? [...comments, line] : [line]
      name = metricName
      continue
    }
    const [, key = '', value = ''] = sampleLine.exec(line) ?? []
    if (key === '') continue
    const { samples } = familyOf(families, name, comments)
    const previous = samples.get(key)
    const number = Number(value.replace('Inf', 'Infinity'))
    samples.set(key, previous === undefined ? number : ruleFor(name)(previous, number))
  }
}

/** The counters, histograms and summaries in a text: they never decrease. */
export function extractCounters(text: string): string {
  const families = new Map<string, Family>()
  addSamples(families, text)
  const isMonotonic = ([, { comments }]: [string, Family]) =>
    comments.some(comment => /^# TYPE \S+ (counter|histogram|summary)$/.test(comment))
  return formatFamilies([...families].filter(isMonotonic).map(([, family]) => family))
}

function formatValue(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

/** Adds up counters, histograms and most gauges. Metrics of the process are reported by every worker, and counted once. */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, Family>()
  for (const text of texts) addSamples(families, text)
  return formatFamilies([...families.values()])
}

function formatFamilies(families: readonly Family[]): string {
  const lines: string[] = []
  for (const { comments, samples } of families) {
    lines.push(...comments)
    for (const [key, value] of samples) lines.push(`${key} ${formatValue(value)}`)
  }
  return `${lines.join('\n')}\n`
}
