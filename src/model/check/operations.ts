/** Checks actions and queries: their names, scopes, inputs, outputs and rules. */
import { isObject } from '../../base/json.ts'
import type { ActionOptions, LogicDeclaration, QueryOptions, ValueDeclarations } from '../logic/logic.ts'
import type { Action, Operation, Query } from '../model.ts'
import { administratorRule, type Rule } from '../rule/rule.ts'
import { didYouMean } from '../suggest.ts'
import { EmittedEvents } from './emitted-events.ts'
import { checkPlainName } from './names.ts'
import { OperationNames } from './operation-names.ts'
import { bareOutline, type Outline } from './outline.ts'
import { dependsOnRow } from './rules.ts'
import { isItem, type OperationCheckContext, operationValuesOf, requireCollection } from './values.ts'

const operationOptions = ['on', 'of', 'input', 'output', 'access', 'scope', 'description', 'run']

export function actionsOf(
  declared: LogicDeclaration['actions'],
  context: OperationCheckContext,
): ReadonlyMap<string, Action> {
  const names = new OperationNames(context, 'actions')
  const emitted = new EmittedEvents(context)
  return operationsOf('actions', declared, context, (name, options: ActionOptions, checked) => {
    names.check(checked)
    return { ...checked, emits: emitted.of(name, options) }
  })
}

export function queriesOf(
  declared: LogicDeclaration['queries'],
  context: OperationCheckContext,
): ReadonlyMap<string, Query> {
  const names = new OperationNames(context, 'queries')
  return operationsOf('queries', declared, context, (_, __: QueryOptions, checked) => {
    names.check(checked)
    return checked
  })
}

type OperationKind = 'actions' | 'queries'
const kinds = { actions: 'action', queries: 'query' } as const

function operationsOf<O extends QueryOptions, T extends Operation>(
  kind: OperationKind,
  declared: Readonly<Record<string, { readonly kind: string; readonly options: O }>> | undefined,
  context: OperationCheckContext,
  make: (name: string, options: O, checked: Operation) => T,
): ReadonlyMap<string, T> {
  const operations = new Map<string, T>()
  for (const [name, declaration] of Object.entries(declared ?? {})) {
    const place = `${kind}.${name}`
    if (!isObject(declaration) || declaration.kind !== kinds[kind] || !isObject(declaration.options)) {
      context.faults.add(
        place,
        `This is not ${kind === 'actions' ? 'an' : 'a'} ${kinds[kind]}. Write \`${kinds[kind]}({ run: … })\`.`,
      )
      continue
    }
    checkPlainName(name, place, context.faults)
    const options = declaration.options as O
    operations.set(name, make(name, options, operationOf(kind, name, options, context)))
  }
  return operations
}

function operationOf(
  kind: OperationKind,
  name: string,
  options: QueryOptions,
  context: OperationCheckContext,
): Operation {
  const { faults } = context
  const place = `${kind}.${name}`
  const allowed = kind === 'actions' ? [...operationOptions, 'emits'] : operationOptions
  for (const option of Object.keys(options)) {
    faults.addUnless(
      allowed.includes(option),
      place,
      `There is no option \`${option}\`.${didYouMean(option, allowed)}`,
    )
  }
  faults.addUnless(typeof options.run === 'function', `${place}.run`, 'Write `run({ data }) { … }`.')
  faults.addUnless(
    options.on === undefined || options.of === undefined,
    place,
    'It either applies to an item (`on`) or belongs to a collection (`of`). Remove one of them.',
  )
  const outline = collectionOf(options, place, context)
  return {
    name,
    target: options.on !== undefined ? 'item' : options.of !== undefined ? 'collection' : 'none',
    collection: outline?.name,
    description: options.description,
    input: inputOf(place, options, outline, context),
    output: outputOf(place, options.output, context),
    access: accessOf(place, options, outline, context),
    scope: scopeOf(kind, place, options, outline, context),
    run: options.run,
  }
}

function collectionOf({ on, of }: QueryOptions, place: string, { outlines, faults }: OperationCheckContext) {
  const name = on ?? of
  if (name === undefined) return undefined
  const outline = outlines.get(name)
  if (!outline) {
    const suggestion = didYouMean(String(name), outlines.keys())
    faults.add(
      `${place}.${on === undefined ? 'of' : 'on'}`,
      `There is no collection \`${name}\`.${suggestion}`,
    )
  }
  return outline
}

function inputOf(
  place: string,
  { input, on }: QueryOptions,
  outline: Outline | undefined,
  context: OperationCheckContext,
) {
  const values = operationValuesOf(`${place}.input`, input, context)
  if (on !== undefined && outline && values.has('id')) {
    context.faults.add(
      `${place}.input.id`,
      '`id` is the item that the operation applies to. Choose another name.',
    )
  }
  return values
}

function outputOf(
  place: string,
  declared: QueryOptions['output'],
  context: OperationCheckContext,
): Operation['output'] {
  if (declared === undefined) return { kind: 'nothing' }
  if (!isItem(declared)) {
    return {
      kind: 'values',
      values: operationValuesOf(`${place}.output`, declared as ValueDeclarations, context),
    }
  }
  requireCollection(declared, `${place}.output`, context)
  return { kind: 'item', collection: declared.collection, optional: declared.optional === true }
}

/** Without an item, the rule may depend only on the caller. */
function accessOf(
  place: string,
  { access, on }: QueryOptions,
  outline: Outline | undefined,
  { rules, faults }: OperationCheckContext,
): Rule {
  const rulePlace = `${place}.access`
  const rule = rules(access, outline ?? bareOutline(place, {}), rulePlace, administratorRule)
  if (on === undefined && dependsOnRow(rule)) {
    faults.add(
      rulePlace,
      'Without `on`, there is no item for which the rule could hold. Write `signedIn`, `role(…)` or `on`.',
    )
  }
  return rule
}

const scopeForm = /^[a-z][a-z0-9_]*:[a-z][a-z0-9_]*$/

function scopeOf(
  kind: OperationKind,
  place: string,
  { scope }: QueryOptions,
  outline: Outline | undefined,
  { faults }: OperationCheckContext,
): string | undefined {
  if (scope === undefined) {
    return outline && `${kind === 'actions' ? 'write' : 'read'}:${outline.singular}`
  }
  if (!scopeForm.test(String(scope))) {
    faults.add(`${place}.scope`, 'A scope is written like `archive:project`.')
  }
  return scope
}
