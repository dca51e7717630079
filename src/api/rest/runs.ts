/** `GET /api/v1/events/runs`, and `/retry` and `/skip` below it: the runs of reactions and jobs, for administrators. */
import type { Call, Reply } from '../../base/call.ts'
import { ApiError, type FieldFault } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import type { RunState, RunView } from '../../delivery/runs/view.ts'
import { maxQuotedLength } from '../../engine/plan/names.ts'
import { requireJson } from './accept.ts'
import { requireAdministrator } from './administrators.ts'
import { memberNames, readBody } from './body.ts'
import { parameterFault, parseQuery, unknownParameter } from './query/query-string.ts'
import { makePresentation } from './reply/headers.ts'
import type { RunsRoute } from './runs-route.ts'
import { json } from './write.ts'

export const defaultRuns = 100
export const maxRuns = 500
/** In one request. */
export const maxRunIds = 100
const maxIdLength = 500
const maxFaults = 100
const names = ['state', 'limit', 'after']
const states: readonly string[] = ['waiting', 'dead'] satisfies RunState[]

const { unstored: headers } = makePresentation(true, [])

/** 200 with a page. 202 for `retry` and `skip`, which take effect within a second. */
export async function answerRuns(
  { runs }: { readonly runs: RunView | undefined },
  { action }: RunsRoute,
  call: Call,
  principal: Principal,
): Promise<Reply> {
  requireAdministrator(principal, { action: 'see and ask for runs' })
  requireJson(call.headers.accept)
  if (runs === undefined) throw new ApiError('NOT_FOUND')
  if (action === 'list') {
    return { status: 200, headers, body: JSON.stringify(await runs.page(pageOf(call.query))) }
  }
  for (const { name } of parseQuery(call.query)) throw unknownParameter(name)
  const ids = parseRunIds(readBody(call, json))
  await runs.request(action, ids)
  return { status: 202, headers, body: JSON.stringify({ runs: ids }) }
}

function pageOf(query: string): Parameters<RunView['page']>[0] {
  const values = new Map(parseQuery(query).map(({ name, value }) => [name, value]))
  for (const name of values.keys()) if (!names.includes(name)) throw unknownParameter(name, names)
  const state = values.get('state')
  if (state !== undefined && !states.includes(state)) {
    throw parameterFault('state', 'invalid', `The parameter "state" must be one of ${states.join(', ')}.`)
  }
  const limit = values.get('limit') ?? String(defaultRuns)
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > maxRuns) {
    throw parameterFault(
      'limit',
      'invalid',
      `The parameter "limit" must be a whole number from 1 to ${maxRuns}.`,
    )
  }
  return { state: state as RunState | undefined, limit: Number(limit), after: values.get('after') }
}

function parseRunIds(body: unknown): readonly string[] {
  const faults: FieldFault[] = memberNames(body)
    .filter(name => name !== 'runs')
    .slice(0, maxFaults)
    .map(name => {
      const field = name.slice(0, maxQuotedLength).toWellFormed()
      return { field, code: 'unknown_field', message: 'There is no such member.' }
    })
  const { runs } = Object(body) as { readonly runs?: unknown }
  if (!isIds(runs)) {
    const message = `Give the ids of 1 to ${maxRunIds} runs, e.g. ["send_invoice/1042"].`
    faults.push({ field: 'runs', code: runs === undefined ? 'required' : 'invalid', message })
  }
  const [first] = faults
  if (first) throw new ApiError('VALIDATION_FAILED', `${first.field}: ${first.message}`, { details: faults })
  return [...new Set(runs as readonly string[])]
}

function isIds(runs: unknown): boolean {
  if (!Array.isArray(runs) || runs.length === 0 || runs.length > maxRunIds) return false
  return runs.every(id => typeof id === 'string' && id.includes('/') && id.length <= maxIdLength)
}
