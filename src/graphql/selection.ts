/** The fields of one object → what its plan selects, what its reply shows, what it costs. */
import type { Collection, ManyToMany, ToMany } from '../model/model.ts'
import type { FieldForm, Selected, SelectedList } from '../plan/plan.ts'
import {
  type Asked,
  objectType,
  type Planning,
  pickOf,
  type Select,
  subfields,
  typenamePick,
} from './asked.ts'
import { planConnection } from './connection-plan.ts'
import { planList } from './list-plan.ts'
import { nodePrefix } from './node-id.ts'
import { type Cost, free, sum } from './parameters.ts'
import type { Picked } from './picked.ts'
import { revealedKey } from './revealed.ts'
import type { Member } from './types.ts'

export const planSelection: Select = (planning, collection, nodes, place, prefix = '') => {
  const parent = objectType(planning, collection)
  const members = planning.ground.directory.members.get(parent.name)
  const select: Selected[] = []
  const picked: Picked[] = []
  const costs: Cost[] = []
  for (const [key, fields] of subfields(planning, parent, nodes)) {
    const name = fields[0].name.value
    if (name === '__typename') {
      picked.push(typenamePick(key, fields, parent))
      select.push({ kind: 'constant', key: prefix + key, value: parent.name })
      continue
    }
    const member = members?.get(name)
    const definition = parent.getFields()[name]
    if (!member || !definition) throw new Error(`${parent.name} has no field ${name}`)
    const asked = { key, nodes: fields, parent, definition, prefix, place }
    const planned = planMember(planning, asked, member)
    if (planned.selected) select.push(planned.selected)
    picked.push(planned.picked)
    costs.push(planned.cost)
  }
  return { select, picked, cost: sum(costs) }
}

interface PlannedMember {
  readonly selected: Selected | undefined
  readonly picked: Picked
  readonly cost: Cost
}

function planMember(planning: Planning, asked: Asked, member: Member): PlannedMember {
  const source = asked.prefix + asked.key
  switch (member.kind) {
    case 'field': {
      const { field } = member
      const selected = fieldSelected(source, field.name, formOf(field.type.graphql))
      return { selected, picked: { ...pickOf(asked), kind: 'leaf' }, cost: free }
    }
    case 'nodeId': {
      const selected = fieldSelected(source, 'id', { prefix: nodePrefix(asked.parent.name) })
      return { selected, picked: { ...pickOf(asked), kind: 'leaf' }, cost: free }
    }
    case 'revealed': {
      const own = { source: revealedKey(member.name), at: undefined }
      const picked: Picked = { ...pickOf(asked), ...own, kind: 'leaf' }
      return { selected: undefined, picked, cost: free }
    }
    case 'relation': {
      const { relation, target } = member
      return relation.kind === 'one'
        ? planOne(planning, asked, relation.name, target)
        : planMany(planning, asked, relation, target)
    }
    case 'connection': {
      const { list, select, picked, cost } = planConnection(planning, asked, member.target)
      const selected = relationSelected(source, member.relation.name, select, list)
      return { selected, picked, cost }
    }
  }
}

function fieldSelected(key: string, field: string, as: FieldForm | undefined): Selected {
  return as === undefined ? { kind: 'field', key, field } : { kind: 'field', key, field, as }
}

function relationSelected(
  key: string,
  relation: string,
  select: readonly Selected[],
  list: SelectedList | undefined,
): Selected {
  return { kind: 'relation', key, relation, select, list }
}

/** In GraphQL an `ID` is a string, and an enum value has a name of its own. */
function formOf(graphql: string): FieldForm | undefined {
  if (graphql === 'ID') return 'string'
  return graphql === 'Enum' ? 'name' : undefined
}

function planOne(planning: Planning, asked: Asked, relation: string, target: Collection): PlannedMember {
  const pick = pickOf(asked)
  const { select, picked, cost } = planSelection(planning, target, asked.nodes, pick.at)
  return {
    selected: relationSelected(pick.source, relation, select, undefined),
    picked: { ...pick, kind: 'object', children: picked, target },
    cost: variables => 1 + cost(variables),
  }
}

function planMany(
  planning: Planning,
  asked: Asked,
  relation: ToMany | ManyToMany,
  target: Collection,
): PlannedMember {
  const { list, select, picked, cost } = planList(planning, asked, target)
  return { selected: relationSelected(picked.source, relation.name, select, list), picked, cost }
}
