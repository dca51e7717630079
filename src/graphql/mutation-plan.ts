/** The fields of a mutation → one write each. */
import type { Collection } from '../model/model.ts'
import {
  type Asked,
  argumentsOf,
  askedOf,
  type Planning,
  pickOf,
  type RootField,
  typenamePick,
} from './asked.ts'
import type { Input } from './input.ts'
import { camelCase } from './names.ts'
import { type Cost, getterOf, idOf, Parameters, sum } from './parameters.ts'
import type { Picked } from './picked.ts'
import { planSelection } from './selection.ts'
import type { MutationStep, MutationVariant, WriteStep } from './variant.ts'

/** Of a write, beyond what it shows. */
const WRITE_COST = 10

export function planMutation(planning: Planning, fields: readonly RootField[]): MutationVariant {
  const costs: Cost[] = []
  const steps = fields.map((field): MutationStep => {
    const { key, nodes, type } = field
    if (nodes[0].name.value === '__typename') {
      return { kind: 'constant', picked: typenamePick(key, nodes, type), value: type.name }
    }
    const { step, cost } = planWrite(planning, askedOf(field))
    costs.push(cost)
    return step
  })
  const getters = steps.flatMap(step => (step.kind === 'constant' ? [] : step.getters))
  return { operation: 'mutation', steps, cost: sum(costs), getters }
}

function planWrite(outer: Planning, asked: Asked): { readonly step: WriteStep; readonly cost: Cost } {
  // Every write is a plan of its own, with its own arguments.
  const planning = { ...outer, parameters: new Parameters() }
  const meaning = planning.ground.directory.mutations.get(asked.definition.name)
  if (!meaning) throw new Error(`nothing answers ${asked.definition.name}`)
  const { kind, collection } = meaning
  const inputs = argumentsOf(planning, asked)
  const idInput = inputs.get('id')
  const pick = { ...pickOf(asked), at: undefined }
  const base = {
    kind,
    collection,
    id: kind !== 'create' && idInput ? getterOf(idInput, idOf) : undefined,
    values: valuesOf(collection, inputs),
  }
  if (kind === 'delete') {
    const picked: Picked = { ...pick, kind: 'leaf' }
    return { step: { ...base, picked, select: [], getters: [] }, cost: () => WRITE_COST }
  }
  const inner = planSelection(planning, collection, asked.nodes, undefined)
  const picked: Picked = { ...pick, kind: 'object', children: inner.picked }
  const { getters } = planning.parameters
  return {
    step: { ...base, picked, select: inner.select, getters },
    cost: variables => WRITE_COST + 1 + inner.cost(variables),
  }
}

/** The values that are set, in the model's order, so that mutations of the same fields share a shape. */
function valuesOf(collection: Collection, inputs: ReadonlyMap<string, Input>): ReadonlyMap<string, Input> {
  const values = new Map<string, Input>()
  for (const field of collection.fields.values()) {
    const input = field.name === 'id' ? undefined : inputs.get(camelCase(field.name))
    if (input) values.set(field.name, input)
  }
  return values
}
