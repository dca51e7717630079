/** Reactions and jobs: lost, doubled and endless work. */
import { type Mutant, mutantsOf } from './mutant.ts'

const restart = ['delivery/logic/restart#SQLite', 'delivery/logic/log-bounds']
const models = ['delivery/logic/two-models#SQLite', 'delivery/logic/jobs#SQLite']
const retries = ['delivery/logic/retries', 'delivery/logic/reactions#SQLite', 'delivery/logic/jobs#SQLite']

export const logic: readonly Mutant[] = [
  ...mutantsOf(
    'engine/logic/data/create-data',
    ['delivery/logic/data-writes', 'delivery/logic/lost-updates#SQLite'],
    [
      [
        'a list that is not whole is returned',
        "if (items.length > maxLimit) throw tooManyItems(place, 'say `limit`, or",
        "if (items.length < 0) throw tooManyItems(place, 'say `limit`, or",
      ],
      ['too many items are changed', 'if (ids.length > maxLimit)', 'if (ids.length < 0)'],
      [
        'every item is changed where the filter is missing',
        'if (!isObject(where)) throw',
        'if (where === null) throw',
      ],
      [
        'an upsert changes an item that has another key by now',
        'others, { ifMatch: found }, call',
        'others, {}, call',
      ],
      [
        'a lost update is told and not made',
        'fields: fields && Object.keys(read) })\n',
        'fields: fields && Object.keys(read) })\n      throw error\n',
      ],
      ['what a change returns is not remembered', 'this.#remembered(text === null', '(text === null'],
    ],
  ),
  ...mutantsOf(
    'engine/logic/data/upsert',
    ['delivery/logic/data-writes#SQLite', 'delivery/logic/data-writes'],
    [
      ['a field that is not unique is a key', 'set.every(name => fields.includes(name))', 'set.length > 0'],
      [
        'a key without a value is looked for',
        'if (key.length < fields.length) throw',
        'if (key.length < 0) throw',
      ],
      ['a value of a key is an operator of a filter', '{ eq: value }', 'value as never'],
      [
        'an upsert that another one has overtaken fails',
        ": error.code === 'CONFLICT'",
        ": error.code === 'GONE'",
      ],
    ],
  ),
  ...mutantsOf(
    'engine/logic/data/read-memory',
    ['delivery/logic/lost-updates'],
    [
      [
        'reads of others are compared',
        'if (read === undefined || read.by !== keyOf(principal))',
        'if (read === undefined)',
      ],
      ['what is remembered has no bound', 'if (this.#items.size > maxItems)', 'if (this.#items.size < 0)'],
      ['long texts are remembered', 'value.length <= maxTextLength', 'value.length >= 0'],
    ],
  ),
  ...mutantsOf(
    'engine/logic/operations/actions',
    ['delivery/logic/action-calls'],
    [
      [
        'whoever may not call an action may have it called',
        '  admitOperation(model, action, principal)\n',
        '',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/logic/operations/tools',
    ['delivery/logic/action-calls'],
    [
      ['actions call each other endlessly', 'if (nesting >= maxNesting) throw', 'if (nesting < 0) throw'],
      ['a failed part of a transaction can be kept', '      this.#failure ??= { error }\n', ''],
    ],
  ),
  ...mutantsOf('delivery/runs/reactions/progress', restart, [
    [
      'later events of a failed one’s item stay in the log only',
      'if (other.itemKey === run.itemKey && other.event > run.event) this.#store(other)',
      '',
    ],
    [
      'an event read after a failed one of its item runs before it',
      'if (this.#storedEvents.has(run.itemKey)) this.#store(run)',
      'if (this.#storedEvents.has(String(run.event))) this.#store(run)',
    ],
    ['stored events have no bound', ' || this.#storedCount >= maxStored', ''],
    ['events read ahead have no bound', 'this.#loggedRuns.size >= maxReadAhead || ', ''],
    [
      'done events after the position are forgotten',
      'if (event > this.position) this.#doneAhead.add(event)',
      '',
    ],
    [
      'done events after the position run again',
      'if (this.#doneAhead.has(run.event) || this.isStored(run)) return',
      'if (this.isStored(run)) return',
    ],
    [
      'a stored event that the log still has is stored again, as if it had not failed yet',
      'if (this.#doneAhead.has(run.event) || this.isStored(run)) return',
      'if (this.#doneAhead.has(run.event)) return',
    ],
    [
      'a thousand done events do not let the position pass',
      'if (this.#doneAhead.size >= maxDoneAhead) this.#storeUnfinished()',
      '',
    ],
    [
      'all events are stored at the bound, not only the unfinished ones before the last done one',
      'if (run.event < last || this.#storedEvents.has(run.itemKey)) this.#store(run)',
      'this.#store(run)',
      'the events after the last done one are few, and storing them loses nothing',
    ],
    [
      'the unfinished events before the last done one are dropped at the bound',
      'if (run.event < last || this.#storedEvents.has(run.itemKey)) this.#store(run)',
      'if (run.event < last) this.#loggedRuns.delete(run.event)',
    ],
    [
      'the position is past the first unfinished event',
      'return first === undefined ? this.#read : first - 1',
      'return first === undefined ? this.#read : first',
    ],
    [
      'a gap of the log is not skipped',
      '    this.#read = pruned\n',
      '',
      'the next change moves the reader past it',
    ],
    ['the count of stored events never falls', '    this.#storedCount--\n', ''],
  ]),
  ...mutantsOf('delivery/runs/session', restart, [
    ['nothing holds the log for reactions', 'if (lowest !== this.#heldEvent) await hold(lowest)', ''],
    [
      'the fastest reaction holds the log, not the slowest',
      'events.length === 0 ? null : Math.min(...events)',
      'events.length === 0 ? null : Math.max(...events)',
    ],
    [
      'the results of runs in progress at a stop are not stored',
      'await this.#flush(state).catch(this.#parts.onFault)',
      '',
    ],
    ['stored runs are not read after a restart', 'waiting.push({ ...run, ', 'void ({ ...run, '],
    [
      'a new session begins at the end of the log',
      '?? { position: last, doneAhead: [] }',
      '&& { position: last, doneAhead: [] }',
    ],
  ]),
  ...mutantsOf(
    'delivery/runs/session',
    ['delivery/logic/reactions#SQLite', 'delivery/logic/jobs#SQLite', 'delivery/logic/runs'],
    [
      [
        'a run is tried although the lease is lost',
        'return (await this.#holding.isHeld()) && !signal.aborted',
        'return true',
        'its result is refused with the position, and it is repeated anyway',
      ],
      [
        'due times are planned again after each turn',
        'if (runs.length === 0 && planner.planned !== before) this.#push([])',
        '',
        'the position is stored with the next run, and its schedule restarts from a later present',
      ],
      ['chains have no end', 'if (results.isTooDeep(task)) return results.giveUpChain(task)', ''],
      ['an operator’s skip is ignored', 'if (requests.isSkipped(task)) {', 'if (false) {'],
    ],
  ),
  ...mutantsOf(
    'delivery/runs/session',
    ['delivery/logic/process-ends#SQLite'],
    [
      [
        'the end of a process is not noticed',
        'this.#hasSuspects = holding.isTakenOver',
        'this.#hasSuspects = false',
      ],
      [
        'runs after a process has ended start one at a time for ever',
        '    suspects.end(task)\n    const verdict = results.settle',
        '    const verdict = results.settle',
      ],
    ],
  ),
  ...mutantsOf(
    'delivery/runs/suspects',
    ['delivery/logic/suspects', 'delivery/logic/process-ends#SQLite'],
    [
      [
        'runs after a process has ended start together',
        'if (this.#current !== undefined || this.#parts.now() < startsAt) return false',
        '',
      ],
      [
        'others run next to a run that decides',
        "if (this.#alone !== undefined && this.#alone !== id) return 'wait'",
        '',
      ],
      ['retries use up the places of first starts', 'attempts > 0 ? `${name}/retries` : name', 'name'],
      ['later runs wait for those before the end of the process', '(event ?? 0) > last', 'false'],
    ],
  ),
  ...mutantsOf(
    'delivery/consumer/lease',
    ['delivery/logic/process-ends#SQLite'],
    [
      [
        'a node that was stopped counts as one that ended during its runs',
        'state.holder !== null && state.holder !== holder',
        'state.holder !== holder',
      ],
    ],
  ),
  ...mutantsOf(
    'delivery/runs/results',
    ['delivery/logic/process-ends#SQLite'],
    [['a run that ends the process is never given up', 'if (processEnds >= maxProcessEnds)', 'if (false)']],
  ),
  ...mutantsOf(
    'delivery/runs/position',
    [...models, ...restart],
    [
      [
        'the positions of reactions that this node does not have are dropped',
        'reactions: { ...reactions, ...positions }',
        'reactions: positions',
      ],
      [
        'what reactions have done that this node does not have is dropped',
        'withoutEmpty({ ...doneAhead, ...done })',
        'withoutEmpty(done)',
      ],
      [
        'done events of a former session are not read',
        '(Object.hasOwn(doneAhead, name) ? doneAhead[name] : undefined) ?? []',
        '[]',
      ],
      [
        'a forgotten reaction keeps its position',
        'filtered(record, name => !names.has(name))',
        'filtered(record, () => true)',
      ],
    ],
  ),
  ...mutantsOf('delivery/runs/results', retries, [
    [
      'a scheduled run is tried again although the next one is due',
      'this.#parts.nextOf(run.name, Date.parse(run.scheduledFor))',
      'this.#parts.nextOf(run.name, this.#parts.now())',
    ],
    [
      'a scheduled run is given up at its first failure',
      'return next !== undefined && next <= retryAt',
      'return next !== undefined',
    ],
    ['a run is never given up', 'if (run.attempts >= maxAttempts) return', 'if (false) return'],
    [
      'the jobs of a run are stored although it failed',
      "if (outcome.kind === 'failed') return this.#fail(run, outcome.error, outcome.thrown)",
      "if (outcome.kind === 'failed' && run.attempts > 0) return this.#fail(run, outcome.error, outcome.thrown)\n    if (outcome.kind === 'failed') return this.#done(run, false, [])",
    ],
    [
      'a job that is tried again keeps the record of the former due time',
      'this.#parts.push([...removeSteps(run), storeStep(rescheduled(run, dueAt))], () =>',
      'this.#parts.push([storeStep(rescheduled(run, dueAt))], () =>',
    ],
    [
      'a dead letter keeps its waiting record',
      'const steps = [...this.#removeSteps(run), deadLetterStep(',
      'const steps = [deadLetterStep(',
    ],
  ]),
  ...mutantsOf('delivery/runs/results', restart, [
    ['a failed run is not stored for its retry', 'this.#parts.push([storeStep(retry)])', ''],
    [
      'a run that was stored while it ran keeps its record',
      'return removeSteps(isStored ? storedRun(run) : run)',
      'return removeSteps(run)',
    ],
    [
      'an item continues before the result of its previous event is stored',
      'return { succeeded, retry: undefined, stored }',
      'return { succeeded, retry: undefined }',
    ],
    ['an item waits for ever once its first event is done', '      resolve()\n', '      void resolve\n'],
  ]),
  ...mutantsOf('delivery/runs/requests', retries, [
    [
      'a retried dead letter keeps its attempts',
      'const restart = { attempts: 0, depth: 0, dueAt: now, processEnds: undefined }',
      'const restart = { depth: 0, dueAt: now }',
    ],
    ['a retried dead letter is not removed', 'push([remove, storeStep(run)])', 'push([storeStep(run)])'],
    [
      'a retried job is dropped',
      'push([remove, storeStep(rescheduled({ ...dead, ...restart }, now))])',
      'push([remove])',
    ],
    [
      'a retried dead letter waits for its former due time',
      'const restart = { attempts: 0, depth: 0, dueAt: now, processEnds: undefined }',
      'const restart = { attempts: 0, depth: 0, dueAt: now + 10_000_000 }',
    ],
  ]),
  ...mutantsOf('engine/logic/operations/later', retries, [
    ['no run begins a new chain', 'depth: isNewChain ? 0 : depth', 'depth'],
    ['every run begins a new chain', 'depth: isNewChain ? 0 : depth', 'depth: 0'],
    [
      'a run that is due a second earlier begins a new chain',
      'const newChainMs = 60_000',
      'const newChainMs = 59_000',
    ],
    ['a time in the past is kept', 'Math.max(timeOf(dueTime), now)', 'timeOf(dueTime)', 'it is due at once'],
  ]),
  ...mutantsOf(
    'delivery/runs/jobs/planner',
    ['delivery/logic/planner', ...models],
    [
      ['a changed time zone is ignored', ' || position.timeZone !== timeZone', ''],
      ['a changed schedule is ignored', 'position?.schedule !== text || ', 'position === undefined || '],
      [
        'a missed due time starts a run for each',
        'schedule.last(now, position.until) ?? scheduledJob.next',
        'scheduledJob.next',
      ],
      ['missed due times are not reported', 'if (dueAt > scheduledJob.next) this', 'if (false) this'],
      ['a due time starts two runs', 'this.#set(name, { ...position, until: dueAt })', ''],
    ],
  ),
  ...mutantsOf('delivery/runs/jobs/queue', models, [
    [
      'a run of an unknown job keeps its old record',
      'this.#parts.push([...removeSteps(run), storeStep(postponed)], () => this.forget(run))',
      'this.#parts.push([storeStep(postponed)], () => this.forget(run))',
    ],
    [
      'a run of an unknown job is dropped',
      'this.#parts.push([...removeSteps(run), storeStep(postponed)], () => this.forget(run))',
      'this.#parts.push([...removeSteps(run)], () => this.forget(run))',
    ],
    ['a run that is done is never loaded again', '    ids.delete(stored)\n', ''],
    [
      'many runs of one job hide the others',
      'else if (this.#searchPause.isOver(now)) {',
      'else if (false) {',
    ],
    [
      'runs load before they are due',
      'page.filter(record => dueAtOf(record) <= now)',
      'page.filter(() => true)',
    ],
  ]),
]
