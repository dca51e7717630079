/** From what a rehearsed request came to, why. */
import { ApiError } from '../errors.ts'
import type { Collection, Field, Model } from '../model/model.ts'
import type { Rule } from '../model/rule.ts'
import type { Probes } from '../plan/guard/probe.ts'
import { type Guard, namesFor } from '../plan/guard.ts'
import type { GuardedRead, GuardedWrite } from '../plan/guarded.ts'
import type { Plan, WriteShape } from '../plan/plan.ts'
import type { Principal, Scopes } from '../principal.ts'
import { inWords } from '../rest/openapi/rule-text.ts'
import type { Store } from '../store/store.ts'
import type { Reason, RulePart } from './explanation.ts'
import type { Attempt } from './rehearsal.ts'
import { ruleSource } from './rule-source.ts'
import { type Looks, ruleTree } from './rule-tree.ts'

export interface ReasonParts {
  readonly model: Model
  readonly guard: Guard
  readonly probes: Probes
  readonly store: Pick<Store, 'transaction'>
  readonly principal: Principal
  readonly asker: Principal | undefined
  readonly attempts: readonly Attempt[]
}

export function listed(scopes: Scopes): 'all' | readonly string[] {
  return scopes === 'all' ? 'all' : [...scopes].sort()
}

/** Looks in a transaction that is undone; first makes the row that `write` would make. */
async function look<T>(
  { store }: ReasonParts,
  looks: (id: number) => Looks<T>,
  write?: GuardedWrite,
): Promise<T | undefined> {
  let found: { readonly value: T } | undefined
  try {
    await store.transaction({
      serial: [],
      *steps() {
        found = undefined
        const made = write ? ((yield write) as { readonly id: number }).id : 0
        const steps = looks(made)
        let step = steps.next()
        while (!step.done) step = steps.next((yield step.value as GuardedRead) as never)
        found = { value: step.value }
        throw new ApiError('BAD_REQUEST', 'This was looked at.')
      },
    })
  } catch (error) {
    if (found === undefined && !(error instanceof ApiError)) throw error
  }
  return (found as { readonly value: T } | undefined)?.value
}

function isWrite(plan: Plan): plan is Plan<WriteShape> {
  return ['create', 'update', 'delete'].includes(plan.shape.kind)
}

/** The item that a plan names. */
function itemOf({ shape, args }: Plan): { readonly collection: string; readonly id: number } | undefined {
  if (shape.kind === 'composite') {
    for (const root of shape.roots)
      if (root.kind === 'item') return { collection: root.collection, id: Number(args[root.id]) }
    return undefined
  }
  if (shape.kind === 'list' || shape.kind === 'aggregate') {
    return shape.within && { collection: shape.within.collection, id: Number(args[shape.within.id]) }
  }
  return shape.kind === 'create' ? undefined : { collection: shape.collection, id: Number(args[shape.id]) }
}

function ruleOf({ logic }: Model, collection: Collection | undefined, operation: string): Rule | undefined {
  if (collection && Object.hasOwn(collection.access, operation)) {
    return collection.access[operation as keyof Collection['access']]
  }
  return (logic.actions.get(operation) ?? logic.queries.get(operation))?.access
}

/** The rule for the item as it is stored. */
function treeAt(parts: ReasonParts, rule: Rule, collection: Collection, id: number | undefined) {
  if (id === undefined) return look(parts, () => ruleTree(parts, rule, undefined))
  return look(parts, function* () {
    const stored = yield parts.probes.holds({ kind: 'anyone' }, collection, id, parts.principal)
    return yield* ruleTree(parts, rule, stored.text === null ? undefined : { collection, id })
  })
}

/** The rule for the item as the write would make it. Undefined: it cannot be made. */
function treeAfter(parts: ReasonParts, rule: Rule, collection: Collection, { plan, principal }: Attempt) {
  if (!isWrite(plan) || plan.shape.kind === 'delete') return undefined
  const guarded = guardedFor(parts, plan, principal)
  if (guarded === undefined) return undefined
  return look(parts, id => ruleTree(parts, rule, { collection, id }), guarded)
}

function guardedFor(
  { guard, probes }: ReasonParts,
  plan: Plan<WriteShape>,
  principal: Principal,
): GuardedWrite | undefined {
  try {
    return probes.unchecked(guard(plan, principal) as never, principal) as GuardedWrite
  } catch {
    // The values alone decide it: the guard refuses before there is a row.
    return undefined
  }
}

const verbs: Readonly<Record<string, string>> = {
  read: 'Reading',
  create: 'Creating',
  update: 'Changing',
  delete: 'Deleting',
}

function deedOf(operation: string, collection: string, id: number | undefined): string {
  const what = id === undefined ? collection : `${collection}/${id}`
  return verbs[operation] === undefined ? `The operation ${operation}` : `${verbs[operation]} ${what}`
}

function first(tree: RulePart | undefined): string {
  const leaf = leading(tree)
  return leaf?.because === undefined ? '' : ` ${leaf.rule}: ${leaf.because}.`
}

/** The part that decides first. */
function leading(tree: RulePart | undefined): RulePart | undefined {
  if (tree === undefined) return undefined
  const inner = tree.parts?.find(one => one.holds === tree.holds)
  return inner === undefined ? tree : (leading(inner) ?? tree)
}

async function ruleReason(
  parts: ReasonParts,
  { collection: name, operation }: { readonly collection: string; readonly operation: string },
  attempt: Attempt | undefined,
  isAllowed: boolean,
): Promise<Reason> {
  const collection = parts.model.collections.get(name)
  const rule = ruleOf(parts.model, collection, operation)
  const at = attempt && itemOf(attempt.plan)
  const id = at?.collection === name ? at.id : undefined
  const base = {
    kind: 'rule' as const,
    ...(name !== '' && { collection: name }),
    operation,
    ...(id !== undefined && { id }),
  }
  if (rule === undefined || collection === undefined) {
    return { ...base, message: `${deedOf(operation, name, id)} is ${isAllowed ? 'allowed' : 'refused'}.` }
  }
  let tree = await treeAt(parts, rule, collection, operation === 'create' ? undefined : id)
  let when = ''
  const isAfter = operation === 'create' || (operation === 'update' && tree?.holds === true && !isAllowed)
  if (isAfter && attempt !== undefined) {
    const after = await treeAfter(parts, rule, collection, attempt)
    if (after !== undefined)
      when = operation === 'create' ? ' for the new item' : ' for the item after the change'
    tree = after ?? tree
  }
  const source = ruleSource(rule)
  const nobody = parts.principal.userId === null ? ' Nobody is signed in.' : ''
  const message = isAllowed
    ? `${deedOf(operation, name, id)} is allowed by the rule ${source}.`
    : `${deedOf(operation, name, id)} is refused: the rule ${source} does not hold${when}.${first(tree)}${nobody}`
  return { ...base, message, rule: source, words: inWords(rule), ...(tree && { parts: [tree] }) }
}

function fieldIn({ fields, computed, relations }: Collection, name: string): Field | undefined {
  const relation = relations.get(name)
  return (
    fields.get(name) ??
    computed.get(name) ??
    (relation?.kind === 'one' ? fields.get(relation.field) : undefined)
  )
}

async function fieldReasons(
  parts: ReasonParts,
  { collection: name, operation, fields = [] }: NonNullable<ApiError['refused']>,
  attempt: Attempt | undefined,
): Promise<readonly Reason[]> {
  const collection = parts.model.collections.get(name)
  if (collection === undefined) return []
  const at = attempt && itemOf(attempt.plan)
  return Promise.all(
    fields.map(async one => {
      const field = fieldIn(collection, one)
      const access = operation === 'read' ? 'read' : 'write'
      const base = { kind: 'field' as const, collection: name, operation, fields: [one] }
      if (field === undefined) return { ...base, message: `${name}.${one} is refused.` }
      const rule = field.access[access]
      const tree = await treeAt(parts, rule, collection, operation === 'create' ? undefined : at?.id)
      const source = ruleSource(rule)
      const message = `The field ${one} may not be ${access === 'read' ? 'read' : 'set'}: its ${access} rule ${source} does not hold.${first(tree)}`
      return { ...base, message, rule: source, words: inWords(rule), ...(tree && { parts: [tree] }) }
    }),
  )
}

/** Whether an item is hidden, and by what, or is not there. */
async function absence(
  parts: ReasonParts,
  { collection: name, id }: { readonly collection: string; readonly id: number },
): Promise<Reason> {
  const collection = parts.model.collections.get(name)
  const base = { collection: name, operation: 'read', id }
  const exists =
    collection &&
    (await look(parts, function* () {
      const { text } = yield parts.probes.holds({ kind: 'anyone' }, collection, id, parts.principal)
      return text !== null
    }))
  if (!collection || !exists)
    return { kind: 'missing', ...base, message: `There is no item ${id} in ${name}.` }
  const rule = collection.access.read
  const tree = await treeAt(parts, rule, collection, id)
  const source = ruleSource(rule)
  if (tree?.holds === true) {
    return {
      kind: 'missing',
      ...base,
      message: `${name}/${id} is there and may be read, but not at this path.`,
    }
  }
  const message = `${name}/${id} is there, and hidden: the read rule ${source} does not hold.${first(tree)}`
  return {
    kind: 'hidden',
    ...base,
    message,
    rule: source,
    words: inWords(rule),
    ...(tree && { parts: [tree] }),
  }
}

async function validationReasons(
  parts: ReasonParts,
  error: ApiError,
  attempt: Attempt | undefined,
): Promise<readonly Reason[]> {
  const details = error.details ?? [{ field: '', code: 'invalid', message: error.message }]
  const plan = attempt && isWrite(attempt.plan) ? attempt.plan : undefined
  return Promise.all(
    details.map(async ({ field, code, message }) => {
      const shape = plan?.shape.kind === 'delete' ? undefined : plan?.shape
      const reference = parts.model.collections.get(shape?.collection ?? '')?.fields.get(field)?.reference
      const param = shape?.set.find(one => one.field === field)?.param
      const id = param === undefined ? undefined : plan?.args[param]
      if (code === 'not_found' && reference && typeof id === 'number') {
        return { ...(await absence(parts, { collection: reference.target, id })), fields: [field] }
      }
      return { kind: 'validation' as const, message, ...(field !== '' && { fields: [field] }) }
    }),
  )
}

/** Why a request is refused. */
export async function refusalReasons(parts: ReasonParts, error: ApiError): Promise<readonly Reason[]> {
  const { attempts, principal } = parts
  const attempt = attempts.find(one => one.error === error) ?? attempts.at(-1)
  const { refused, scope } = error
  if (scope !== undefined) {
    const has = listed(principal.access.scopes)
    const shown = has === 'all' ? 'all' : has.join(', ') || 'none'
    const message = `The credential needs the scope ${scope}; it has ${shown}.`
    return [{ kind: 'scope', message, scope, scopes: has === 'all' ? ['*'] : has, ...refused }]
  }
  if (refused?.fields) return fieldReasons(parts, refused, attempt)
  if (refused) return [await ruleReason(parts, refused, attempt, false)]
  if (error.code === 'VALIDATION_FAILED') return validationReasons(parts, error, attempt)
  if (error.code === 'NOT_FOUND') {
    const empty = attempts.findLast(one => one.error === error || one.isEmpty) ?? attempt
    const at = empty && itemOf(empty.plan)
    return at ? [await absence(parts, at)] : [{ kind: 'missing', message: 'There is no such path.' }]
  }
  const kind = error.code === 'CONFLICT' ? 'limit' : error.code === 'UNAUTHORIZED' ? 'credential' : 'request'
  return [{ kind, message: error.message }]
}

/** Why a request is allowed, and what its answer leaves out. */
export async function allowanceReasons(parts: ReasonParts): Promise<readonly Reason[]> {
  const seen = new Set<string>()
  const reasons: Reason[] = []
  for (const attempt of parts.attempts.slice(0, maxAttempts)) {
    const { shape } = attempt.plan
    if (shape.kind === 'composite') continue
    const operation = isWrite(attempt.plan) ? shape.kind : 'read'
    const key = `${operation} ${shape.collection} ${itemOf(attempt.plan)?.id}`
    if (seen.has(key)) continue
    seen.add(key)
    reasons.push(await ruleReason(parts, { collection: shape.collection, operation }, attempt, true))
    if (operation === 'read') reasons.push(...(await hiddenFields(parts, attempt)))
  }
  return reasons
}

/** Further plans of one request say little more. */
const maxAttempts = 10

async function hiddenFields(parts: ReasonParts, { plan, principal }: Attempt): Promise<readonly Reason[]> {
  if (plan.shape.kind !== 'item' && plan.shape.kind !== 'list') return []
  const collection = parts.model.collections.get(plan.shape.collection)
  if (collection === undefined) return []
  const names = namesFor(parts.model, collection, principal.access).fields
  const id = plan.shape.kind === 'item' ? itemOf(plan)?.id : undefined
  const reasons: Reason[] = []
  for (const field of collection.fields.values()) {
    if (field.internal || field.access.read.kind === 'anyone') continue
    const rule = field.access.read
    const tree = await treeAt(parts, rule, collection, id)
    const isAbsent = !names.has(field.name)
    if (!isAbsent && (id === undefined ? false : tree?.holds !== false)) continue
    const what = isAbsent
      ? 'is left out'
      : id === undefined
        ? 'is null where its read rule does not hold'
        : 'is null'
    const source = ruleSource(rule)
    const message = `The field ${field.name} ${what}: its read rule is ${source}.`
    reasons.push({
      kind: 'field',
      collection: collection.name,
      operation: 'read',
      fields: [field.name],
      message,
      rule: source,
      words: inWords(rule),
      ...(tree && { parts: [tree] }),
    })
  }
  return reasons
}
