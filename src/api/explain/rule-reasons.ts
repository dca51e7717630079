/** Reasons from the rules of collections, actions, queries and fields. */

import type { Refused } from '../../base/errors.ts'
import type { Collection, CrudOperation, Field, Model } from '../../model/model.ts'
import { anyoneRule, type Rule } from '../../model/rule/rule.ts'
import { inWords, ruleSource } from '../../model/rule/rule-text.ts'
import { itemOf, type ReasonParts, readAndRollBack, treeAfter, treeAt } from './evaluation.ts'
import type { Reason, RulePart } from './explanation.ts'
import type { Attempt } from './rehearsal.ts'

/** The rule of a collection, an action or a query. */
export function ruleOf(
  { logic }: Model,
  collection: Collection | undefined,
  operation: string,
): Rule | undefined {
  if (collection && Object.hasOwn(collection.access, operation)) {
    return collection.access[operation as CrudOperation]
  }
  return (logic.actions.get(operation) ?? logic.queries.get(operation))?.access
}

/** The members of a reason that describe its rule. */
export function ruleMembers(
  rule: Rule,
  tree: RulePart | undefined,
): Pick<Reason, 'rule' | 'words' | 'parts'> {
  return { rule: ruleSource(rule), words: inWords(rule), ...(tree && { parts: [tree] }) }
}

const verbs: Readonly<Record<string, string>> = {
  read: 'Reading',
  create: 'Creating',
  update: 'Changing',
  delete: 'Deleting',
}

function operationText(operation: string, collection: string, id: number | undefined): string {
  const target = id === undefined ? collection : `${collection}/${id}`
  const verb = verbs[operation]
  if (verb !== undefined) return `${verb} ${target}`
  return `The operation ${operation}${id === undefined ? '' : ` of ${target}`}`
}

/** Why the first part that decides the rule holds or does not hold. */
export function because(tree: RulePart | undefined): string {
  const leaf = decidingPart(tree)
  return leaf?.because === undefined ? '' : ` ${leaf.rule}: ${leaf.because}.`
}

function decidingPart(tree: RulePart | undefined): RulePart | undefined {
  if (tree === undefined) return undefined
  const part = tree.parts?.find(({ holds }) => holds === tree.holds)
  return part === undefined ? tree : (decidingPart(part) ?? tree)
}

type Operation = Pick<Refused, 'collection' | 'operation'>

/** The rule that allows or refuses an operation, for the item that the plan names. */
export async function ruleReason(
  parts: ReasonParts,
  { collection: name, operation }: Operation,
  attempt: Attempt | undefined,
  isAllowed: boolean,
): Promise<Reason> {
  const collection = parts.model.collections.get(name)
  const rule = ruleOf(parts.model, collection, operation)
  const item = attempt && itemOf(attempt.plan)
  const id = item?.collection === name ? item.id : undefined
  const base = {
    kind: 'rule' as const,
    ...(name !== '' && { collection: name }),
    operation,
    ...(id !== undefined && { id }),
  }
  const subject = operationText(operation, name, id)
  if (rule === undefined) return { ...base, message: `${subject} is ${isAllowed ? 'allowed' : 'refused'}.` }
  const { tree, when } = await evaluateRule(parts, { rule, collection, operation, id }, attempt, isAllowed)
  const message = isAllowed ? allowedBy(subject, rule) : refusedBy(parts, subject, rule, tree, when)
  return { ...base, message, ...ruleMembers(rule, tree) }
}

function allowedBy(subject: string, rule: Rule): string {
  return `${subject} is allowed by the rule ${ruleSource(rule)}.`
}

function refusedBy(
  { principal }: ReasonParts,
  subject: string,
  rule: Rule,
  tree: RulePart | undefined,
  when = '',
): string {
  const nobody = principal.userId === null ? ' Nobody is signed in.' : ''
  return `${subject} is refused: the rule ${ruleSource(rule)} does not hold${when}.${because(tree)}${nobody}`
}

/** The rule of a route, which the caller alone decides. */
export async function callerRuleReason(
  parts: ReasonParts,
  subject: string,
  rule: Rule,
  isAllowed: boolean,
): Promise<Reason> {
  const tree = await treeAt(parts, rule, anyCollection(parts.model), undefined)
  const message = isAllowed ? allowedBy(subject, rule) : refusedBy(parts, subject, rule, tree)
  return { kind: 'rule', message, ...ruleMembers(rule, tree) }
}

interface EvaluatedRule {
  readonly rule: Rule
  /** Undefined for an action or query without a collection. */
  readonly collection: Collection | undefined
  readonly operation: string
  readonly id: number | undefined
}

/** Evaluates the rule for the stored item, or for the item after the write if that refuses the request. */
async function evaluateRule(
  parts: ReasonParts,
  { rule, collection = anyCollection(parts.model), operation, id }: EvaluatedRule,
  attempt: Attempt | undefined,
  isAllowed: boolean,
): Promise<{ readonly tree: RulePart | undefined; readonly when: string }> {
  const tree = await treeAt(parts, rule, collection, operation === 'create' ? undefined : id)
  const isAfter = operation === 'create' || (operation === 'update' && tree?.holds === true && !isAllowed)
  const after = isAfter && attempt ? await treeAfter(parts, rule, collection, attempt) : undefined
  if (after === undefined) return { tree, when: '' }
  const when = operation === 'create' ? ' for the new item' : ' for the item after the change'
  if (!after.holds || isAllowed) return { tree: after, when }
  // The rule holds because of the written item alone.
  return { tree: undefined, when: `${when}: an item does not count among the related items of its own rule` }
}

/** For operations without a collection: the caller alone decides their rule, so any collection will do. */
function anyCollection({ collections }: Model): Collection {
  const [first] = collections.values()
  if (first === undefined) throw new Error('a model has collections')
  return first
}

function fieldIn({ fields, computed, relations }: Collection, name: string): Field | undefined {
  const relation = relations.get(name)
  return (
    fields.get(name) ??
    computed.get(name) ??
    (relation?.kind === 'one' ? fields.get(relation.field) : undefined)
  )
}

/** The rules of the refused fields. */
export function fieldReasons(
  parts: ReasonParts,
  { collection: name, operation, fields = [] }: Refused,
  attempt: Attempt | undefined,
): Promise<readonly Reason[]> {
  const collection = parts.model.collections.get(name)
  if (collection === undefined) return Promise.resolve([])
  const item = attempt && itemOf(attempt.plan)
  const id = operation === 'create' || item?.collection !== name ? undefined : item.id
  return Promise.all(
    fields.map(async fieldName => {
      const field = fieldIn(collection, fieldName)
      const access = operation === 'read' ? 'read' : 'write'
      const base = { kind: 'field' as const, collection: name, operation, fields: [fieldName] }
      if (field === undefined) return { ...base, message: `${name}.${fieldName} is refused.` }
      const rule = field.access[access]
      const tree = await treeAt(parts, rule, collection, id)
      const verb = access === 'read' ? 'read' : 'set'
      const message = `The field ${fieldName} may not be ${verb}: its ${access} rule ${ruleSource(rule)} does not hold.${because(tree)}`
      return { ...base, message, ...ruleMembers(rule, tree) }
    }),
  )
}

/** Whether an item does not exist, or is hidden, and by which rule. */
export async function absenceReason(
  parts: ReasonParts,
  { collection: name, id }: { readonly collection: string; readonly id: number },
): Promise<Reason> {
  const collection = parts.model.collections.get(name)
  const base = { collection: name, operation: 'read', id }
  const exists =
    collection &&
    (await readAndRollBack(parts, function* () {
      const { text } = yield parts.probes.holds(anyoneRule, collection, id, parts.principal)
      return text !== null
    }))
  if (!collection || !exists) {
    return { kind: 'missing', ...base, message: `There is no item ${id} in ${name}.` }
  }
  const rule = collection.access.read
  const tree = await treeAt(parts, rule, collection, id)
  if (tree?.holds === true) {
    const message = `${name}/${id} exists and may be read, but not at this path.`
    return { kind: 'missing', ...base, message }
  }
  const message = `${name}/${id} exists, but is hidden: the read rule ${ruleSource(rule)} does not hold.${because(tree)}`
  return { kind: 'hidden', ...base, message, ...ruleMembers(rule, tree) }
}
