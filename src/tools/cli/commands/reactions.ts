/** `portico reactions`: lists reactions, jobs and their waiting and failed runs; retries or drops runs. */
import { ApiError } from '../../../base/errors.ts'
import { type Records, recordsOf } from '../../../base/records.ts'
import { positionKey, type RunnerPosition } from '../../../delivery/runs/position.ts'
import { type RunAction, requestRecord } from '../../../delivery/runs/requests.ts'
import { hasRuns } from '../../../delivery/runs/runner.ts'
import { type RunPage, RunView, type ShownRun } from '../../../delivery/runs/view.ts'
import { deadKind, jobKind, runOf, waitingKind } from '../../../engine/logic/run.ts'
import { scheduleOf } from '../../../model/logic/schedule.ts'
import type { Model } from '../../../model/model.ts'
import { counted } from '../counted.ts'
import { databaseOptions, type OpenedDatabase, withDatabase } from '../database.ts'
import { Failure } from '../failure.ts'
import { type TableRow, tableOr } from '../table.ts'
import type { Command, ParsedArgs } from './commands.ts'

const pageSize = 500

function runRow({ id, state, collection, item_id: item, attempts, at, error }: ShownRun): TableRow {
  return { run: id, state, item: collection && `${collection}/${item}`, attempts, at, error }
}

async function placeOf(records: Records): Promise<RunnerPosition> {
  const record = await records.get(positionKey.kind, positionKey.id)
  return record === undefined ? { reactions: {}, jobs: {} } : JSON.parse(record.payload)
}

function overviewOf({ logic }: Model, place: RunnerPosition, newest: number): readonly TableRow[] {
  const reactions = [...logic.reactions.values()].map(({ name, types }) => {
    const position = place.reactions[name]
    const behind = position === undefined ? null : Math.max(0, newest - position)
    return { name, on: types.join(' '), events_behind: behind, next: null }
  })
  const jobs = [...logic.jobs.values()].map(({ name, schedule, timeZone }) => {
    const next = schedule === undefined ? undefined : scheduleOf(schedule, timeZone).next(Date.now())
    const on = schedule === undefined ? 'later' : `${schedule} (${timeZone})`
    return { name, on, events_behind: null, next: next === undefined ? null : new Date(next).toISOString() }
  })
  const unknown = Object.keys({ ...place.reactions, ...place.jobs })
    .filter(name => !logic.reactions.has(name) && !logic.jobs.has(name))
    .map(name => ({ name, on: 'not in the model', events_behind: null, next: null }))
  return [...reactions, ...jobs, ...unknown]
}

async function listAll({ model, stored, lastEvent }: OpenedDatabase): Promise<string> {
  const place = await placeOf(stored)
  const overview = overviewOf(model, place, await lastEvent())
  const names = ['name', 'on', 'events_behind', 'next']
  const { data, meta } = await new RunView(stored).page({ limit: pageSize })
  const runs = data.map(runRow)
  const columns = ['run', 'state', 'item', 'attempts', 'at', 'error']
  const waiting = runs.length === 0 ? '' : `\n${tableOr('', columns, runs)}`
  const more = meta.next_after === null ? '' : `Only the first ${pageSize} runs are shown.\n`
  return `${tableOr('The model has no reactions and no jobs.', names, overview)}${waiting}${more}`
}

/** Returns the id that the argument names, or with `--dead` the ids of all dead letters. */
async function idsOf(args: ParsedArgs, view: RunView): Promise<readonly string[]> {
  const [id] = args.arguments
  if (!args.flag('dead')) {
    if (id === undefined) throw new Failure('Name a run, or use --dead for all dead letters.', 2)
    return [id]
  }
  const ids: string[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const { data, meta }: RunPage = await view.page({ state: 'dead', limit: pageSize, after })
    ids.push(...data.map(run => run.id))
    after = meta.next_after
  }
  return ids
}

async function requestRuns(view: RunView, action: RunAction, ids: readonly string[]): Promise<void> {
  try {
    await view.request(action, ids)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error
    throw new Failure(`There is no run \`${ids[0]}\`. \`portico reactions list\` shows all.`)
  }
}

async function request(action: RunAction, args: ParsedArgs, opened: OpenedDatabase): Promise<string> {
  const [name = ''] = args.arguments
  const isName = name !== '' && !name.includes('/')
  if (isName && action === 'skip') return forget(name, opened)
  const view = new RunView(opened.stored)
  const ids = await idsOf(args, view)
  await requestRuns(view, action, ids)
  const effect = action === 'retry' ? 'run again' : 'dropped'
  const when = hasRuns(opened.model)
    ? 'within a second if the service is running, else when it starts'
    : 'once the model has reactions'
  return `${ids.length === 1 ? ids[0] : `${ids.length} runs`} will be ${effect}, ${when}\n`
}

/** Removes the stored state of a reaction or job that is no longer in the model. */
async function forget(name: string, { model, stored }: OpenedDatabase): Promise<string> {
  const { reactions, jobs } = model.logic
  if (reactions.has(name) || jobs.has(name)) {
    throw new Failure(
      `The model has \`${name}\`. Name one of its runs: \`portico reactions list\` shows them.`,
    )
  }
  const place = await placeOf(stored)
  const hasPosition = Object.hasOwn(place.reactions, name) || Object.hasOwn(place.jobs, name)
  let count = 0
  for (const kind of [deadKind, waitingKind, jobKind]) {
    for await (const record of recordsOf(stored, kind)) {
      if (runOf(record).name === name && (await stored.delete(kind, record.id))) count++
    }
  }
  if (!hasPosition && count === 0) throw new Failure(`Nothing is stored for \`${name}\`.`)
  if (hasPosition) await stored.put(requestRecord('skip', name))
  return `Removed everything stored for ${name}: ${counted(count, 'run')}${hasPosition ? ', and its position in the log' : ''}\n`
}

export const list: Command = { options: databaseOptions, run: args => withDatabase(args, listAll) }

const selection = {
  dead: { value: undefined, sentence: 'All dead letters.' },
  ...databaseOptions,
}

export const retry: Command = {
  arguments: ['run?'],
  options: selection,
  run: args => withDatabase(args, opened => request('retry', args, opened)),
}

export const skip: Command = {
  arguments: ['run?'],
  options: selection,
  run: args => withDatabase(args, opened => request('skip', args, opened)),
}
