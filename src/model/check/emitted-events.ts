/** Checks the types of events that actions emit. */
import type { ActionOptions, EmittedDeclaration } from '../logic/logic.ts'
import type { EmittedEvent, Field } from '../model.ts'
import { anyoneRule } from '../rule/rule.ts'
import { camelCase, checkFieldName, pascalCase } from './names.ts'
import type { Outline } from './outline.ts'
import { type OperationCheckContext, valueField } from './values.ts'

const changeKinds = ['created', 'updated', 'deleted']
const eventName = /^[a-z][a-z0-9_]{0,49}$/

export class EmittedEvents {
  readonly #context: OperationCheckContext
  readonly #declared = new Map<string, EmittedDeclaration>()
  /** The fields of GraphQL's type `Subscription`, each with its event type. */
  readonly #subscriptions: Map<string, string>

  constructor(context: OperationCheckContext) {
    this.#context = context
    this.#subscriptions = new Map(
      [...context.outlines.values()].filter(({ unlogged }) => !unlogged).flatMap(changeSubscriptions),
    )
  }

  /** The events of one action. */
  of(action: string, { emits = {} }: ActionOptions): ReadonlyMap<string, EmittedEvent> {
    const events = new Map<string, EmittedEvent>()
    for (const [type, declared] of Object.entries(emits)) {
      const event = this.#event(`actions.${action}.emits.${type}`, type, declared)
      if (event) events.set(type, event)
    }
    return events
  }

  #event(place: string, type: string, declared: EmittedDeclaration): EmittedEvent | undefined {
    const { rules, faults } = this.#context
    const outline = this.#outlineOf(type)
    if (!outline) {
      faults.add(
        place,
        'A type is the singular of a collection and a name of its own, other than created, updated and deleted: e.g. `project.archived`.',
      )
      return undefined
    }
    this.#checkNames(place, type, declared)
    return {
      ...{ type, collection: outline.name, description: declared?.description },
      fields: this.#fields(place, declared),
      access: rules(declared?.access, outline, `${place}.access`, anyoneRule),
    }
  }

  #outlineOf(type: string): Outline | undefined {
    const [singular = '', kind = '', ...rest] = type.split('.')
    if (rest.length > 0 || !eventName.test(kind) || changeKinds.includes(kind)) return undefined
    return [...this.#context.outlines.values()].find(
      outline => outline.singular === singular && !outline.unlogged,
    )
  }

  /** A type of event has one declaration, with one rule, even if several actions emit it. */
  #checkNames(place: string, type: string, declared: EmittedDeclaration): void {
    const { faults } = this.#context
    const earlier = this.#declared.get(type)
    this.#declared.set(type, declared)
    faults.addUnless(
      earlier === undefined || earlier === declared,
      place,
      'Another action declares this type too. Write the declaration once, as a constant, and use it in both.',
    )
    const name = camelCase(type.replace('.', '_'))
    const ownerType = this.#subscriptions.get(name)
    this.#subscriptions.set(name, type)
    faults.addUnless(
      ownerType === undefined || ownerType === type,
      place,
      `Its GraphQL name, \`${name}\`, is also that of \`${ownerType}\`. Choose another name.`,
    )
  }

  #fields(place: string, declared: EmittedDeclaration): ReadonlyMap<string, Field> {
    const fields = new Map<string, Field>()
    for (const [name, declaration] of Object.entries(declared?.fields ?? {})) {
      checkFieldName(name, `${place}.fields.${name}`, this.#context.faults)
      const field = valueField(`${place}.fields`, name, declaration, this.#context)
      if (field) fields.set(name, field)
    }
    return fields
  }
}

function changeSubscriptions({ singular }: Outline): readonly (readonly [string, string])[] {
  const camel = camelCase(singular)
  return [
    [`new${pascalCase(singular)}`, `${singular}.created`],
    [`${camel}Updated`, `${singular}.updated`],
    [`${camel}Deleted`, `${singular}.deleted`],
  ]
}
