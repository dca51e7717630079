/**
 * Prepares documents before the first request, since V8 runs new code slowly. In a new process, a document of 2,000
 * tokens took up to 25 ms of CPU; after this it takes a third of that.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Run } from '../../engine/plan/run.ts'
import { anyone } from '../../model/access.ts'
import { checkModel } from '../../model/check/check.ts'
import { collection, model } from '../../model/declaration.ts'
import { relation } from '../../model/fields/relation.ts'
import { string } from '../../model/fields/string.ts'
import { createEngine } from './execute/create-engine.ts'

/** How often each document repeats its parts. The first document is the slowest, so it is short. */
const rounds = [1, 4, 20, 20, 20, 20]

let warmUpDone: Promise<void> | undefined

/** Once per thread. `run` is never called. */
export function warmUp(run: Run): Promise<void> {
  warmUpDone ??= prepareAll(run)
  return warmUpDone
}

async function prepareAll(run: Run): Promise<void> {
  // Its own engine: the caches of the service stay empty.
  const engine = createEngine({ model: checkModel(notes), run, hooks: new Map() })
  for (const [round, parts] of rounds.entries()) {
    const prepared = engine.prepare(`${validDocument(parts)}#${round}`, undefined)
    if (prepared.outcome !== 'prepared') throw new Error(prepared.errors[0]?.message)
    engine.bind(prepared, { more: true })
    await nextTurn()
    engine.prepare(`${invalidDocument(parts)}#${round}`, undefined)
    await nextTurn()
  }
}

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const notes = model({
  notes: collection({
    fields: { title: string(), author_id: relation('users', { inverse: 'notes' }) },
    access,
  }),
})

function repeat(count: number, part: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => part(index)).join(' ')
}

/** Lists with every kind of argument, fragments, directives, a connection, and type conditions. */
function validDocument(parts: number): string {
  const rows =
    'limit: $n, filter: {title: {contains: "x"}, or: [{id: {in: [1, 2]}}]}, orderBy: [CREATED_AT_DESC]'
  const list = (index: number) =>
    `notes(${rows}) { ...F${index} author @include(if: $more) { ... on User { a: id } } }`
  const fragment = (index: number) => `fragment F${index} on Note { id title id title id title __typename }`
  const connection = 'notesConnection(first: 3) { nodes { id } pageInfo { hasNextPage } }'
  const node = 'node(nodeId: "Note:1") { ... on Note { x: id author { id } } ... on User { x: nodeId } }'
  return `query ($n: Int = 1, $more: Boolean!) { ${repeat(parts, list)} ${connection} ${node} } ${repeat(parts, fragment)}`
}

/** Unknown names, repeated arguments, values of a wrong type. */
function invalidDocument(parts: number): string {
  const list = (index: number) =>
    `me { x${index} ...F } notes(limit: 1, limit: 2, x: "x", orderBy: X) { id @x }`
  return `{ ${repeat(parts, list)} } ${repeat(parts, index => `fragment F${index} on User { id }`)}`
}
