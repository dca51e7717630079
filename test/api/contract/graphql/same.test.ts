/** The same query through REST and GraphQL: equal data and the same decisions of the guard. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { anonymous } from '../../../../src/base/principal.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import { databaseKinds } from '../rest/databases.ts'
import { callers, inRestForm, openTransports, type Transports } from './transports.ts'

interface Question {
  readonly rest: string
  readonly graphql: string
}

const projectFields = 'id name slug ownerId visibility settings code createdAt updatedAt'
const userFields = 'id name email role bio phone managerId createdAt updatedAt'

const questions: readonly Question[] = [
  {
    rest: '/api/v1/projects/1?fields=id,name,slug',
    graphql: '{ answer: project(id: 1) { id name slug } }',
  },
  {
    rest: '/api/v1/projects?fields=id,name,slug,owner_id,visibility,settings,code,created_at,updated_at',
    graphql: `{ answer: projects(limit: 20) { ${projectFields} } }`,
  },
  {
    rest: '/api/v1/projects?owner_id=2&sort=-name&fields=id,name',
    graphql:
      '{ answer: projects(limit: 20, filter: { ownerId: { eq: 2 } }, orderBy: NAME_DESC) { id name } }',
  },
  {
    rest: '/api/v1/projects?name[contains]=2&visibility[in]=open,members&fields=id,name,visibility',
    graphql:
      '{ answer: projects(limit: 20, filter: { name: { contains: "2" }, visibility: { in: [OPEN, MEMBERS] } }) { id name visibility } }',
  },
  {
    rest: '/api/v1/users?fields=id,name,phone&sort=email',
    graphql: '{ answer: users(limit: 20, orderBy: EMAIL_ASC) { id name phone } }',
  },
  {
    rest: '/api/v1/projects?fields=id&include=owner',
    graphql: `{ answer: projects(limit: 20) { id owner { ${userFields} } } }`,
  },
  {
    rest: '/api/v1/users/2?fields=id&include=manager',
    graphql: `{ answer: user(id: 2) { id manager { ${userFields} } } }`,
  },
  {
    rest: '/api/v1/users/1?fields=id,name&include=reports',
    graphql: `{ answer: user(id: 1) { id name reports(limit: 100) { ${userFields} } } }`,
  },
]

const aggregates: readonly Question[] = [
  {
    rest: '/api/v1/tasks/aggregate',
    graphql: '{ answer: tasksAggregate { count } }',
  },
  {
    rest: '/api/v1/projects/aggregate?group_by=visibility,created_at:year&count&sort=-count,visibility',
    graphql:
      '{ answer: projectsAggregate(groupBy: [VISIBILITY, CREATED_AT_YEAR], orderBy: [COUNT_DESC, VISIBILITY_ASC]) { group { visibility createdAtYear } count } }',
  },
  {
    rest: '/api/v1/tasks/aggregate?group_by=created_at:hour,due_on:week,created_at:quarter&tz=Asia/Kathmandu&count',
    graphql:
      '{ answer: tasksAggregate(groupBy: [CREATED_AT_HOUR, DUE_ON_WEEK, CREATED_AT_QUARTER], timeZone: "Asia/Kathmandu") { group { createdAtHour dueOnWeek createdAtQuarter } count } }',
  },
  {
    rest: '/api/v1/tasks/aggregate?sum=priority&avg=priority&min=title,due_on&max=created_at&group_by=project_id',
    graphql:
      '{ answer: tasksAggregate(groupBy: PROJECT_ID) { group { projectId } sum { priority } avg { priority } min { title dueOn } max { createdAt } } }',
  },
  {
    rest: '/api/v1/tasks/aggregate?project.name[contains]=Project&title[icontains]=T&group_by=state&max=priority&sort=-max.priority',
    graphql:
      '{ answer: tasksAggregate(filter: { project: { name: { contains: "Project" } }, title: { icontains: "T" } }, groupBy: STATE, orderBy: MAX_PRIORITY_DESC) { group { state } max { priority } } }',
  },
  {
    // A number that only some callers can read.
    rest: '/api/v1/projects/aggregate?sum=budget',
    graphql: '{ answer: projectsAggregate { sum { budget } } }',
  },
  {
    rest: '/api/v1/tasks/aggregate?group_by=project.name,project.created_at:year,state&count&sort=-project.name,state',
    graphql:
      '{ answer: tasksAggregate(groupBy: [STATE], groupByRelated: { project: { by: [NAME, CREATED_AT_YEAR] } }, orderByRelated: [{ project: { by: NAME_DESC } }, { by: STATE_ASC }]) { group { project { name createdAtYear } state } count } }',
  },
  {
    // Numbers and texts of related items that only some callers can read.
    rest: '/api/v1/tasks/aggregate?group_by=project.visibility&sum=project.budget,priority&min=project.name&avg=project.budget&max=project.created_at&sort=-sum.project.budget',
    graphql:
      '{ answer: tasksAggregate(groupByRelated: { project: { by: VISIBILITY } }, orderByRelated: { project: { by: SUM_BUDGET_DESC } }) { group { project { visibility } } sum { project { budget } priority } avg { project { budget } } min { project { name } } max { project { createdAt } } } }',
  },
  {
    rest: '/api/v1/users/aggregate?group_by=manager.phone&count&max=manager.phone',
    graphql:
      '{ answer: usersAggregate(groupByRelated: { manager: { by: PHONE } }) { group { manager { phone } } count max { manager { phone } } } }',
  },
  {
    rest: '/api/v1/tasks/aggregate?group_by=project.created_at:month&tz=Asia/Kathmandu&count',
    graphql:
      '{ answer: tasksAggregate(groupByRelated: { project: { by: CREATED_AT_MONTH } }, timeZone: "Asia/Kathmandu") { group { project { createdAtMonth } } count } }',
  },
  {
    // Along two relations; the order of the items' own keys comes first.
    rest: '/api/v1/tasks/aggregate?group_by=state,project.owner.name&count&max=project.owner.created_at&sort=-count,-project.owner.name,state',
    graphql:
      '{ answer: tasksAggregate(groupBy: STATE, groupByRelated: { project: { owner: { by: NAME } } }, orderBy: COUNT_DESC, orderByRelated: [{ project: { owner: { by: NAME_DESC } } }, { by: STATE_ASC }]) { group { state project { owner { name } } } count max { project { owner { createdAt } } } } }',
  },
  {
    rest: '/api/v1/users/aggregate?group_by=phone&count',
    graphql: '{ answer: usersAggregate(groupBy: PHONE) { group { phone } count } }',
  },
]

const projectTexts = 'name slug code createdAt visibility'

/** A group with the values of related items and of parts under single names, `project_name`. */
function inRestNames(group: object): object {
  const flat = (value: object, prefix: string): readonly (readonly [string, unknown])[] =>
    Object.entries(value).flatMap(([key, member]) => {
      const name = prefix + key.replaceAll(/[.:]/g, '_')
      if (typeof member !== 'object' || member === null) return [[name, member] as const]
      return flat(member, key === 'group' ? '' : `${name}_`)
    })
  return Object.fromEntries(flat(group, ''))
}

for (const kind of databaseKinds) {
  suite(kind.name, () => {
    let transports: Transports
    before(async () => {
      transports = await openTransports(kind)
    })
    after(() => transports?.close())

    for (const { rest: url, graphql } of questions) {
      for (const [name, who] of callers) {
        test(`${name} gets the data of ${url} from GraphQL, too`, async () => {
          const body = await transports.byRest(url, who)
          const decided = transports.decisions(who)
          // REST omits the field for everybody else.
          const document =
            name === 'an administrator' ? graphql.replaceAll('email role', 'email role disabled') : graphql
          const { answer, codes } = await transports.byGraphql(document, who)
          assert.deepEqual(codes, [])
          assert.deepEqual(inRestForm(answer), body.data ?? body)
          assert.deepEqual(transports.decisions(who), decided)
        })
      }
    }

    for (const { rest: url, graphql } of aggregates) {
      for (const [name, who] of callers) {
        test(`${name} gets the aggregates of ${url} from GraphQL, too`, async () => {
          const body = await transports.byRest(url, who)
          const { answer, codes } = await transports.byGraphql(graphql, who)
          assert.deepEqual(codes, body.error ? [body.error.code] : [])
          if (body.error) return
          const groups = inRestForm(answer) as { group?: object }[]
          assert.deepEqual(groups.map(inRestNames), (body.data as object[]).map(inRestNames))
          assert.ok(groups.length > 0)
        })
      }
    }

    test('invalid aggregate queries are request errors', async () => {
      const [[, who] = []] = callers
      assert.ok(who)
      const rows = [
        ['{ answer: tasksAggregate(groupBy: [STATE]) { group { title } } }', /is not a group key/],
        [
          '{ answer: tasksAggregate(groupBy: [STATE], orderBy: [TITLE_ASC]) { count } }',
          /is not a key of .*groupBy/,
        ],
        ['{ answer: tasksAggregate(groupBy: [STATE, TITLE, DONE, PRIORITY]) { count } }', /at most 3/],
        ['{ answer: tasksAggregate(limit: 100000) { count } }', /must be from 0 to/],
        [
          '{ answer: tasksAggregate(groupBy: STATE, orderByRelated: { project: { by: NAME_ASC } }) { count } }',
          /orderByRelated.* contains project.name, which is not a key of .*groupByRelated/,
        ],
        [
          '{ answer: tasksAggregate(groupBy: STATE) { group { project { name } } } }',
          /is not a group key: add it to .*groupByRelated/,
        ],
        [
          `{ answer: tasksAggregate(groupByRelated: { project: { by: [NAME, SLUG, CODE] } }) { min { project { ${projectTexts} } } max { project { ${projectTexts} } } } }`,
          /follow at most 10 relations together, not 13/,
        ],
        [
          '{ answer: usersAggregate { max { manager { manager { manager { manager { name } } } } } } }',
          /follows at most 3 relations, not 4/,
        ],
        [
          '{ answer: tasksAggregate(groupBy: [STATE, TITLE], groupByRelated: { project: { by: [NAME, SLUG] } }) { count } }',
          /at most 3/,
        ],
        [
          '{ answer: tasksAggregate(groupBy: CREATED_AT_DAY, timeZone: "Mars") { count } }',
          /not a time zone/,
        ],
        ['{ answer: tasksAggregate(groupBy: DUE_ON_DAY, timeZone: "UTC") { count } }', /part of a time/],
      ] as const
      // A request error has no data.
      for (const [source, message] of rows) await assert.rejects(transports.byGraphql(source, who), message)
      const grouped = await transports.byGraphql(
        'query ($by: [TaskAggregateGroupBy!]) { answer: tasksAggregate(groupBy: $by, orderBy: COUNT_DESC) { __typename n: count keys: group { __typename s: state } } }',
        who,
        { by: ['STATE'] },
      )
      assert.deepEqual(grouped.codes, [])
      const [first] = grouped.answer as { __typename: string; n: number; keys: { s: string } }[]
      assert.equal(first?.__typename, 'TaskAggregate')
      assert.match(String(first?.keys.s), /^[A-Z]+$/)
    })

    test('results are sorted by relevance in lists, related lists and connections', async () => {
      const [[, who] = []] = callers
      assert.ok(who)
      const rest = await transports.byRest('/api/v1/projects/1/tasks?q=grey&sort=-q&fields=id,title', who)
      const searchArguments = 'search: "grey", orderBy: RELEVANCE) { id title }'
      const { answer, codes } = await transports.byGraphql(
        `{ answer: project(id: 1) { tasks(${searchArguments} tasksConnection(first: 9, ${searchArguments.replace('{ id', '{ totalCount nodes { id')} } } }`,
        who,
      )
      assert.deepEqual(codes, [])
      const { tasks, tasksConnection } = answer as Record<string, JsonValue>
      assert.deepEqual(inRestForm(tasks ?? null), rest.data)
      assert.deepEqual(tasksConnection, { totalCount: (rest.data as unknown[]).length, nodes: tasks })
      assert.deepEqual(
        (rest.data as { id: number }[]).map(item => item.id),
        [4, 2, 1],
      )
    })

    test('REST and GraphQL refuse an anonymous caller with the same code', async () => {
      const nobody = anonymous('192.0.2.1')
      const rows = [
        ['/api/v1/users/1', '{ answer: user(id: 1) { id } }'],
        ['/api/v1/memberships', '{ answer: memberships { id } }'],
        ['/api/v1/memberships?cursor=', '{ answer: membershipsConnection { nodes { id } } }'],
      ] as const
      for (const [url, source] of rows) {
        const { error } = await transports.byRest(url, nobody)
        assert.match(String(error?.code), /^[A-Z_]+$/)
        assert.deepEqual((await transports.byGraphql(source, nobody)).codes, [error?.code], source)
      }
    })
  })
}
