/** GraphQL connections and REST lists by cursor: the same pages, cursors, totals and guard decisions. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Principal } from '../../../../src/base/principal.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import { databaseKinds } from '../rest/databases.ts'
import { callers, type Decisions, inRestForm, openTransports, type Transports } from './transports.ts'

interface Connection {
  readonly totalCount: number
  readonly nodes: readonly JsonValue[]
  readonly edges: readonly { readonly cursor: string; readonly node: JsonValue }[]
  readonly pageInfo: {
    readonly hasNextPage: boolean
    readonly hasPreviousPage: boolean
    readonly startCursor: string | null
    readonly endCursor: string | null
  }
}

/** One list. `reversed`: REST's `sort` for the opposite order. */
interface WalkedList {
  readonly path: string
  readonly sort: string
  readonly reversed: string
  readonly filters: string
  readonly fields: string
  /** A document with `PAGE` in place of the page arguments and `SHOWN` in place of the selection. */
  readonly graphql: string
  readonly selection: string
}

const fields = { fields: 'id,name,visibility', selection: 'id name visibility' }
const byId = { sort: '', reversed: '-id' }
const lists: readonly WalkedList[] = [
  {
    path: 'projects',
    ...byId,
    filters: '',
    ...fields,
    graphql: '{ answer: projectsConnection(PAGE) SHOWN }',
  },
  {
    path: 'projects',
    sort: '-name',
    reversed: 'name',
    filters: '',
    ...fields,
    graphql: '{ answer: projectsConnection(PAGE, orderBy: NAME_DESC) SHOWN }',
  },
  {
    path: 'projects',
    sort: 'visibility,-created_at',
    reversed: '-visibility,created_at',
    filters: 'name[ne]=Project 3&visibility[in]=open,members',
    ...fields,
    graphql:
      '{ answer: projectsConnection(PAGE, orderBy: [VISIBILITY_ASC, CREATED_AT_DESC], filter: { visibility: { in: [OPEN, MEMBERS] }, name: { ne: "Project 3" } }) SHOWN }',
  },
  {
    // Values that may be null, and that some callers cannot read.
    path: 'users',
    sort: '-phone,manager_id',
    reversed: 'phone,-manager_id',
    filters: 'role[null]=false',
    fields: 'id,phone,manager_id',
    graphql:
      '{ answer: usersConnection(PAGE, orderBy: [PHONE_DESC, MANAGER_ID_ASC], filter: { role: { isNull: false } }) SHOWN }',
    selection: 'id phone managerId',
  },
  {
    path: 'users/3/projects',
    sort: '-name',
    reversed: 'name',
    filters: 'name[contains]=Project',
    ...fields,
    graphql:
      '{ answer: user(id: 3) { list: projectsConnection(PAGE, orderBy: NAME_DESC, filter: { name: { contains: "Project" } }) SHOWN } }',
  },
  {
    path: 'projects/2/members',
    ...byId,
    filters: '',
    fields: 'id,name,phone',
    graphql: '{ answer: project(id: 2) { list: membersConnection(PAGE) SHOWN } }',
    selection: 'id name phone',
  },
  {
    path: 'users/2/reports',
    ...byId,
    filters: 'email[ne]=nobody@example.org',
    fields: 'id,name',
    graphql:
      '{ answer: user(id: 2) { list: reportsConnection(PAGE, filter: { email: { ne: "nobody@example.org" } }) SHOWN } }',
    selection: 'id name',
  },
]

interface Page {
  readonly data: readonly JsonValue[]
  readonly decided: Decisions
  /** Undefined: there is no further page. */
  readonly next: string | undefined
}

const pageSize = 1

/** The pages of REST one after the other, in the order of `sort`. */
async function restPages(
  transports: Transports,
  list: WalkedList,
  sort: string,
  who: Principal,
): Promise<readonly Page[]> {
  const { path, fields: names, filters } = list
  const pages: Page[] = []
  for (let cursor = ''; ; ) {
    const query = [`cursor=${encodeURIComponent(cursor)}`, `per_page=${pageSize}`, `fields=${names}`]
    if (sort !== '') query.push(`sort=${sort}`)
    if (filters !== '') query.push(encodeURI(filters))
    const { data = [], meta, error } = await transports.byRest(`/api/v1/${path}?${query.join('&')}`, who)
    assert.equal(error, undefined)
    const next = meta?.next_cursor ?? undefined
    pages.push({ data, next, decided: transports.decisions(who) })
    if (next === undefined) return pages
    cursor = next
  }
}

async function connection(
  transports: Transports,
  list: WalkedList,
  page: string,
  selection: string,
  who: Principal,
) {
  const source = list.graphql.replace('PAGE', page).replace('SHOWN', selection)
  const { answer, codes } = await transports.byGraphql(source, who)
  assert.deepEqual(codes, [], source)
  const parent = answer as { readonly list?: Connection } | Connection
  return 'list' in parent ? (parent.list as Connection) : (parent as Connection)
}

const wholeSelection = ({ selection }: WalkedList) =>
  `{ nodes { ${selection} } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`

/** Whether the caller may read the item that the list belongs to. */
async function mayAsk(transports: Transports, { path }: WalkedList, who: Principal): Promise<boolean> {
  const { error } = await transports.byRest(`/api/v1/${path}?cursor=`, who)
  return error === undefined
}

let walked = 0
let pagesSeen = 0

function keysOf(cursor: string | null): readonly JsonValue[] {
  return JSON.parse(Buffer.from(cursor ?? '', 'base64url').toString()).slice(1)
}

/** Walks page by page. Forward, GraphQL continues with the cursors of REST. */
async function walk(
  transports: Transports,
  list: WalkedList,
  direction: 'forward' | 'backward',
  who: Principal,
): Promise<void> {
  const forward = direction === 'forward'
  const pages = await restPages(transports, list, forward ? list.sort : list.reversed, who)
  let cursor: string | undefined
  for (const [index, { data, decided, next }] of pages.entries()) {
    const [size, position] = forward ? ['first', 'after'] : ['last', 'before']
    const place = cursor === undefined ? '' : `, ${position}: "${cursor}"`
    const { nodes, pageInfo } = await connection(
      transports,
      list,
      `${size}: ${pageSize}${place}`,
      wholeSelection(list),
      who,
    )
    assert.deepEqual(
      nodes.map(node => inRestForm(node)),
      data,
    )
    assert.deepEqual(transports.decisions(who), decided)
    const { hasNextPage, hasPreviousPage, startCursor, endCursor } = pageInfo
    assert.equal(forward ? hasNextPage : hasPreviousPage, next !== undefined)
    assert.equal(forward ? hasPreviousPage : hasNextPage, index > 0)
    const nextCursor = forward ? endCursor : startCursor
    // A cursor names its order, too. Backward, the order of the list stays, it is not reversed.
    if (next !== undefined)
      assert.deepEqual(forward ? nextCursor : keysOf(nextCursor), forward ? next : keysOf(next))
    cursor = forward ? next : (nextCursor ?? undefined)
    pagesSeen++
  }
  walked++
}

for (const kind of databaseKinds) {
  suite(kind.name, () => {
    let transports: Transports
    before(async () => {
      transports = await openTransports(kind)
      walked = 0
      pagesSeen = 0
    })
    after(() => transports?.close())

    for (const list of lists) {
      for (const [name, who] of callers) {
        for (const direction of ['forward', 'backward'] as const) {
          test(`${name} gets the same pages ${direction} from REST and ${list.graphql}`, async () => {
            if (await mayAsk(transports, list, who)) return walk(transports, list, direction, who)
            const page = direction === 'forward' ? 'first: 1' : 'last: 1'
            const source = list.graphql.replace('PAGE', page).replace('SHOWN', '{ nodes { id } }')
            const { answer, codes } = await transports.byGraphql(source, who)
            assert.ok(answer === null || codes.length > 0, JSON.stringify({ answer, codes }))
          })
        }

        test(`${name} gets the same total from REST and ${list.graphql}`, async () => {
          if (!(await mayAsk(transports, list, who))) return
          const filters = list.filters === '' ? '' : `&${encodeURI(list.filters)}`
          const { meta } = await transports.byRest(`/api/v1/${list.path}?per_page=1${filters}`, who)
          const { totalCount, edges } = await connection(
            transports,
            list,
            'first: 100',
            '{ totalCount edges { cursor node { id } } }',
            who,
          )
          assert.equal(totalCount, meta?.total)
          assert.equal(edges.length, totalCount)
        })
      }
    }

    test('enough pages were compared', () => {
      assert.ok(walked > 30 && pagesSeen > 1.5 * walked, `${pagesSeen} pages of ${walked} walks`)
    })
  })
}
