/** What the model wants to know of whoever makes an account, beside name and address. */
import type { JsonValue } from '../../model/fields/type.ts'
import type { Field, Model } from '../../model/model.ts'
import type { ListShape } from '../../plan/plan.ts'
import type { Run } from '../../plan/run.ts'
import { system } from '../../principal.ts'

export interface Asked {
  /** The field's name in the model. */
  readonly name: string
  readonly label: string
  readonly field: Field
}

/** `company_name` → `Company name`. */
function words(name: string): string {
  const text = name.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** In the order of the model. */
export function askedFields(model: Pick<Model, 'collections'>): readonly Asked[] {
  const fields = [...(model.collections.get('users')?.fields.values() ?? [])]
  return fields
    .filter(({ signUp }) => signUp)
    .map(field => ({ name: field.name, label: field.description ?? words(field.name), field }))
}

/** The answers as values. What stands for no value is left as it is: the model says what is wrong with it. */
export function valuesOf(fields: readonly Asked[], answers: ReadonlyMap<string, string>) {
  const values: Record<string, JsonValue> = {}
  const missing = new Map<string, string>()
  for (const { name, label, field } of fields) {
    const text = answers.get(name)?.trim() ?? ''
    const isFlag = field.type.schema.type === 'boolean'
    if (isFlag) values[name] = text !== ''
    else if (text !== '') values[name] = field.type.fromText(text) ?? text
    else missing.set(name, `${label}: an answer is needed.`)
  }
  return { values, missing }
}

function withValue(name: string): ListShape {
  return {
    kind: 'list',
    collection: 'users',
    within: undefined,
    filter: { kind: 'compare', field: name, operator: 'eq', param: 2 },
    search: undefined,
    sort: [],
    window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
    select: [{ kind: 'field', key: 'id', field: 'id' }],
  }
}

interface Asking {
  readonly model: Model
  readonly run: Run
}

/** Where an account waits for its link: what of the answers nobody else may have, and somebody has. */
export async function takenAnswers(
  { model, run }: Asking,
  values: Readonly<Record<string, JsonValue>>,
): Promise<ReadonlyMap<string, string>> {
  const faults = new Map<string, string>()
  for (const { name, label, field } of askedFields(model)) {
    const value = values[name]
    if (!field.unique || value === undefined) continue
    const { text } = await run.list({ shape: withValue(name), args: [0, 1, value] }, system)
    if (text !== '[]') faults.set(name, `${label}: somebody else has this already.`)
  }
  return faults
}
