/**
 * Random histories of documents whose read rules ask about other rows and about the time, and a reference that knows what each
 * listener may be told of them. It keeps the whole database before and after each commit, and shares no code with the guard:
 * rules are trees of questions, declared for the service by `declaredRule` and answered here by `answer`.
 */
import {
  type AccessRule,
  anyone,
  boolean,
  collection,
  datetime,
  field,
  model,
  not,
  now,
  owner,
  related,
  relation,
  text,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'

/** A pseudo-random source: equal seeds, equal numbers. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to `limit` - 1. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T
  }
}

/** What a rule asks about a document. The comment says of which rows. */
const questions = [
  'public', // the document
  'embargoed', // the document, and the time
  'private', // its project
  'opened', // its project, and the time
  'trashed', // the folder of its project
  'held', // its holds
  'held now', // its holds, and the time
  'owned', // its project, and the caller
  'member', // the members of its project, and the caller
  'member now', // the members of its project, the time, and the caller
  'blocked', // its blocks, and the caller
] as const
type Question = (typeof questions)[number]
export type Rule =
  | { readonly kind: 'ask'; readonly question: Question }
  | { readonly kind: 'not'; readonly rule: Rule }
  | { readonly kind: 'and' | 'or'; readonly rules: readonly [Rule, Rule] }

export function randomRule(random: Random, depth = 2): Rule {
  const kind = depth === 0 ? 'ask' : random.of(['ask', 'not', 'and', 'or'] as const)
  if (kind === 'ask') return { kind, question: random.of(questions) }
  if (kind === 'not') return { kind, rule: randomRule(random, depth - 1) }
  return { kind, rules: [randomRule(random, depth - 1), randomRule(random, depth - 1)] }
}

const mine = owner('user_id')
const unexpired = field('until').gte(now)
const declarations: Readonly<Record<Question, AccessRule>> = {
  public: field('public').eq(true),
  embargoed: not(field('embargo').eq(null).or(field('embargo').lte(now))),
  private: field('project.private').eq(true),
  opened: field('project.opens_at').lte(now),
  trashed: related('project', related('folder', field('trashed').eq(true))),
  held: related('holds', anyone),
  'held now': related('holds', unexpired),
  owned: related('project', owner('owner_id')),
  member: related('project', related('members', mine)),
  'member now': related('project', related('members', mine.and(unexpired))),
  blocked: related('blocks', mine),
}

export function declaredRule(rule: Rule): AccessRule {
  if (rule.kind === 'ask') return declarations[rule.question]
  if (rule.kind === 'not') return not(declaredRule(rule.rule))
  const [left, right] = rule.rules.map(declaredRule) as [AccessRule, AccessRule]
  return rule.kind === 'and' ? left.and(right) : left.or(right)
}

export interface Variant {
  /** Of the collections `docs0`, `docs1` and so on. */
  readonly rules: readonly Rule[]
  /** Of the references to projects, and to folders. */
  readonly onDelete: readonly ['cascade' | 'clear', 'cascade' | 'clear']
}

export function declareModel({ rules, onDelete: [ofProjects, ofFolders] }: Variant) {
  const cascade = { onDelete: 'cascade' } as const
  const access = { read: anyone }
  const documents = rules.map((rule, index) => {
    const docs = collection({
      singular: `doc${index}`,
      fields: {
        title: text(),
        public: boolean(),
        embargo: datetime({ optional: true }),
        project_id: relation('projects', { inverse: `docs${index}`, optional: true, onDelete: ofProjects }),
      },
      access: { read: declaredRule(rule) },
    })
    const doc_id = relation(`docs${index}`, { inverse: 'holds', ...cascade })
    const blocked = relation(`docs${index}`, { inverse: 'blocks', ...cascade })
    const user_id = relation('users', { inverse: `blocks${index}`, ...cascade })
    return {
      [`docs${index}`]: docs,
      [`holds${index}`]: collection({
        singular: `hold${index}`,
        fields: { until: datetime(), doc_id },
        access,
      }),
      [`blocks${index}`]: collection({
        singular: `block${index}`,
        fields: { doc_id: blocked, user_id },
        access,
      }),
    }
  })
  const declared = {
    users: users({ access: { read: anyone } }),
    folders: collection({ fields: { trashed: boolean() }, access }),
    projects: collection({
      fields: {
        private: boolean(),
        opens_at: datetime(),
        owner_id: relation('users', { inverse: 'projects', ...cascade }),
        folder_id: relation('folders', { inverse: 'projects', optional: true, onDelete: ofFolders }),
      },
      access,
    }),
    members: collection({
      fields: {
        until: datetime(),
        project_id: relation('projects', { inverse: 'members', ...cascade }),
        user_id: relation('users', { inverse: 'memberships', ...cascade }),
      },
      access,
    }),
  }
  return checkModel(model(Object.assign(declared, ...documents)))
}

export type Row = Readonly<Record<string, string | number | boolean | null>>

/** The rows of every collection, by their ids. */
export type World = ReadonlyMap<string, ReadonlyMap<number, Row>>

export function rowsOf(world: World, name: string): ReadonlyMap<number, Row> {
  return world.get(name) ?? new Map()
}

/** `row` undefined: deleted. */
export function withRow(world: World, name: string, id: number, row: Row | undefined): World {
  const rows = new Map(rowsOf(world, name))
  if (row === undefined) rows.delete(id)
  else rows.set(id, row)
  return new Map(world).set(name, rows)
}

/** The world without a row and what depends on it. */
export function withoutRow(world: World, { onDelete, rules }: Variant, name: string, id: number): World {
  const referring: readonly (readonly [string, string, 'cascade' | 'clear'])[] =
    name === 'folders'
      ? [['projects', 'folder_id', onDelete[1]]]
      : name === 'projects'
        ? [
            ['members', 'project_id', 'cascade'],
            ...rules.map((_, index) => [`docs${index}`, 'project_id', onDelete[0]] as const),
          ]
        : name.startsWith('docs')
          ? ['holds', 'blocks'].map(other => [name.replace('docs', other), 'doc_id', 'cascade'] as const)
          : []
  let after = withRow(world, name, id, undefined)
  for (const [collection, reference, effect] of referring) {
    for (const [other, row] of rowsOf(after, collection)) {
      if (row[reference] !== id) continue
      after =
        effect === 'cascade'
          ? withoutRow(after, { onDelete, rules }, collection, other)
          : withRow(after, collection, other, { ...row, [reference]: null })
    }
  }
  return after
}

/** The database after a commit, and when that was, in milliseconds since 1970. */
export interface Moment {
  readonly world: World
  readonly at: number
}

/** One version of a document, and how it is looked at. */
interface Sight {
  readonly name: string
  readonly doc: Row
  readonly user: number | null
  /** Whose related rows and whose time count. */
  readonly moment: Moment
  /** When the version was committed: of the rows before the commit, or after it. */
  readonly commit: Moment
  /** When it is told. */
  readonly today: Moment
}

/** Undefined: unknown, since a row on the way is gone. */
type Answer = boolean | undefined

/** Whether the listener may be told the version: it could read it at the commit, with the rights of today, and may today. */
export function isTellable(rule: Rule, sight: Omit<Sight, 'moment'>): boolean {
  return [sight.commit, sight.today].every(moment => answerRule(rule, { ...sight, moment }) === true)
}

function answerRule(rule: Rule, sight: Sight): Answer {
  if (rule.kind === 'ask') return answer(rule.question, sight)
  if (rule.kind === 'not') {
    const inner = answerRule(rule.rule, sight)
    return inner === undefined ? undefined : !inner
  }
  const answers = rule.rules.map(part => answerRule(part, sight))
  const deciding = rule.kind === 'or'
  if (answers.includes(deciding)) return deciding
  return answers.includes(undefined) ? undefined : !deciding
}

function answer(question: Question, sight: Sight): Answer {
  const { name, doc, user, moment, commit, today } = sight
  const projectIn = ({ world }: Moment) => rowsOf(world, 'projects').get(Number(doc.project_id))
  const aboutProject = (then: Moment, ask: (project: Row) => boolean): Answer => {
    if (doc.project_id === null) return false
    const project = projectIn(then)
    return project && ask(project)
  }
  const some = (then: Moment, collection: string, matches: (row: Row) => boolean) =>
    [...rowsOf(then.world, collection).values()].some(matches)
  const isUnexpired = ({ until }: Row) => Number(until) >= moment.at
  const isOfDoc = ({ doc_id }: Row) => doc_id === doc.id
  const isMember = ({ project_id, user_id }: Row) => project_id === doc.project_id && user_id === user
  const holds = name.replace('docs', 'holds')
  const blocks = name.replace('docs', 'blocks')
  switch (question) {
    case 'public':
      return doc.public === true
    case 'embargoed':
      return doc.embargo !== null && Number(doc.embargo) > moment.at
    case 'private':
      return aboutProject(moment, project => project.private === true)
    case 'opened':
      return aboutProject(moment, ({ opens_at }) => Number(opens_at) <= moment.at)
    case 'trashed':
      return aboutProject(moment, ({ folder_id }) => {
        return rowsOf(moment.world, 'folders').get(Number(folder_id))?.trashed === true
      })
    case 'held':
      return some(moment, holds, isOfDoc)
    case 'held now':
      return some(moment, holds, row => isOfDoc(row) && isUnexpired(row))
    default:
      break
  }
  if (user === null) return false
  switch (question) {
    case 'owned':
      return aboutProject(today, ({ owner_id }) => owner_id === user)
    case 'member':
      return aboutProject(today, () => some(today, 'members', isMember))
    case 'member now':
      return aboutProject(today, () => some(today, 'members', row => isMember(row) && isUnexpired(row)))
    case 'blocked':
      if (rowsOf(today.world, name).has(Number(doc.id)))
        return some(today, blocks, row => isOfDoc(row) && row.user_id === user)
      return some(commit, blocks, isOfDoc) ? undefined : false
  }
}
