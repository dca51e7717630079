/** Processes and threads: ends that are missed, counted twice, or never come. */
import { type Mutant, mutantsOf } from './mutant.ts'

const ends = ['delivery/logic/suspects', 'delivery/logic/process-ends#SQLite']

export const processes: readonly Mutant[] = [
  ...mutantsOf(
    'base/watchdog/watchdog',
    ['base/watchdog'],
    [
      ['slow code is not reported', 'if (durationMs > slowMs)', 'if (durationMs > 10 * slowMs)'],
      [
        'code within other code ends its watch',
        'if (outerPlace === undefined) slot?.leave()',
        'if (outerPlace !== undefined) slot?.leave()',
      ],
      ['no code is watched', 'if (outerPlace === undefined) slot.enter(limitMs)', ''],
    ],
  ),
  ...mutantsOf(
    'base/watchdog/thread',
    ['base/watchdog'],
    [
      ['nothing is ever looked at', 'isInside && timeOf(state, sinceMs) >= slot.limitMs', 'false'],
      ['the process is not ended', 'void evaluate(session, `process.exit(${exitCode})`)', ''],
    ],
  ),
  ...mutantsOf('delivery/runs/suspects', ends, [
    ['what was not due is a suspect', 'dueAt > this.#beganAt || ', ''],
    ['later events are suspects', ' || (event ?? 0) > last', ''],
    ['a suspect does not wait', ' || this.#parts.now() < startsAt', ''],
    ['an outage marks a run again', 'if (id !== marked) return', 'return'],
    ['a run that decides is not alone', 'if (isDeciding) this.#alone = id', ''],
    ['a run that has ended stays a suspect', 'this.#suspects.delete(id)', ''],
  ]),
  ...mutantsOf('delivery/runs/session', ends, [
    [
      'retries of reactions that are gone are suspects',
      'waiting.filter(({ name }) => reactions.some(track => track.name === name))',
      'waiting.filter(({ name }) => name !== String(reactions))',
    ],
    ['the mark of a run is forgotten', 'this.#marked = task.id', ''],
    ['suspects are never over', 'if (state.suspects.isOver) this.#hasSuspects = false', ''],
  ]),
  ...mutantsOf(
    'delivery/runs/jobs/planner',
    ['delivery/logic/planner'],
    [['a position years ahead is kept', ' || isAhead', ' || (isAhead && false)']],
  ),
  ...mutantsOf(
    'delivery/consumer/timetable',
    ['tools/testing/ending'],
    [
      [
        'with a clock that stands still, nothing is bounded',
        'clock === systemClock ? [clock] : [clock, systemClock]',
        '[clock]',
      ],
    ],
  ),
  ...mutantsOf(
    'delivery/runs/runner',
    ['tools/testing/ending'],
    [
      [
        'after the end, settled() waits',
        'if (this.#loop.isStopping) throw',
        'if (this.#loop.isStopping && this.#loop.session) throw',
      ],
    ],
  ),
  ...mutantsOf(
    'server/serve/shutdown',
    ['server/serve/orderly-stop'],
    [['the process ends in the middle of a stop', 'keepRunning(close())', 'close()']],
  ),
  ...mutantsOf(
    'server/serve/store',
    ['server/serve/large-deletions'],
    [['deletions have no bound', 'maxItems: settings.quotas.cascade', 'maxItems: undefined']],
  ),
  ...mutantsOf(
    'engine/store/postgres/row-security/policies',
    ['server/serve/row-security'],
    [['events cannot ask whether a row exists', ' || columns.length === 0', '']],
  ),
  ...mutantsOf(
    'tools/dev/supervisor',
    ['tools/dev/reload'],
    [
      [
        'the changes before a fault are not named',
        'new Set([...changed, ...this.#changed])',
        'new Set(this.#changed)',
      ],
    ],
  ),
]
