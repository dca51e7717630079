/** The selection of one object → what the plan selects, the fields of the reply, and the cost. */

import type { FieldForm, Selected, SelectedList } from '../../../engine/plan/plan.ts'
import { isComputed, scannedLists } from '../../../model/computed/fields.ts'
import type { Collection, Field, ManyToMany, ToMany } from '../../../model/model.ts'
import type { Member } from '../schema/directory.ts'
import { nodePrefix } from '../schema/node-id.ts'
import { defaultListLimit } from '../schema/parts.ts'
import { planConnection } from './connection-plan.ts'
import {
  type FieldRequest,
  objectType,
  planMembers,
  replyFieldBase,
  subfields,
  typenameField,
} from './field-request.ts'
import { planList } from './list-plan.ts'
import { type Cost, noCost, sumOfCosts } from './parameters.ts'
import type { PlanContext, PlanSelection } from './plan-context.ts'
import { type ReplyField, revealedKey } from './reply-fields.ts'

export const planSelection: PlanSelection = (context, collection, nodes, place, prefix = '') => {
  const parent = objectType(context, collection)
  const members = context.directory.members.get(parent.name)
  const select: Selected[] = []
  const replyFields: ReplyField[] = []
  const costs: Cost[] = []
  for (const [key, fields] of subfields(context, parent, nodes)) {
    const name = fields[0].name.value
    if (name === '__typename') {
      replyFields.push(typenameField(key, fields, parent))
      select.push({ kind: 'constant', key: prefix + key, value: parent.name })
      continue
    }
    const member = members?.get(name)
    const definition = parent.getFields()[name]
    if (!member || !definition) throw new Error(`${parent.name} has no field ${name}`)
    const request = { key, nodes: fields, parent, definition, prefix, place }
    const planned = planMember(context, request, member)
    if (planned.selected) select.push(planned.selected)
    replyFields.push(planned.replyField)
    costs.push(planned.cost)
  }
  return { select, replyFields, cost: sumOfCosts(costs) }
}

/** The rows that a computed field reads cost as much as those of a list without a limit. */
function costOf(field: Field): Cost {
  if (!isComputed(field)) return noCost
  const points = scannedLists(field.expression).length * (1 + defaultListLimit)
  return () => points
}

interface PlannedMember {
  readonly selected: Selected | undefined
  readonly replyField: ReplyField
  readonly cost: Cost
}

function planMember(context: PlanContext, request: FieldRequest, member: Member): PlannedMember {
  const source = request.prefix + request.key
  switch (member.kind) {
    case 'field': {
      const { field } = member
      const selected = fieldSelected(source, field.name, field.type.graphql.form)
      if (field.type.graphql.object)
        return { selected, replyField: objectField(context, request), cost: noCost }
      return { selected, replyField: { ...replyFieldBase(request), kind: 'leaf' }, cost: costOf(field) }
    }
    case 'nodeId': {
      const selected = fieldSelected(source, 'id', { prefix: nodePrefix(request.parent.name) })
      return { selected, replyField: { ...replyFieldBase(request), kind: 'leaf' }, cost: noCost }
    }
    case 'revealed': {
      const location = { source: revealedKey(member.name), place: undefined }
      const replyField: ReplyField = { ...replyFieldBase(request), ...location, kind: 'leaf' }
      return { selected: undefined, replyField, cost: noCost }
    }
    case 'relation': {
      const { relation, target } = member
      return relation.kind === 'one'
        ? planOne(context, request, relation.name, target)
        : planMany(context, request, relation, target)
    }
    case 'connection': {
      const { list, select, replyField, cost } = planConnection(context, request, member.target)
      const selected = relationSelected(source, member.relation.name, select, list)
      return { selected, replyField, cost }
    }
  }
}

/** A value that is an object: the plan selects all of it. */
function objectField(context: PlanContext, request: FieldRequest): ReplyField {
  const children = planMembers(context, request, member => ({
    ...replyFieldBase(member),
    source: member.definition.name,
    place: undefined,
    kind: 'leaf',
  }))
  return { ...replyFieldBase(request), kind: 'object', children }
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

function planOne(
  context: PlanContext,
  request: FieldRequest,
  relation: string,
  target: Collection,
): PlannedMember {
  const base = replyFieldBase(request)
  const { select, replyFields, cost } = planSelection(context, target, request.nodes, base.place)
  return {
    selected: relationSelected(base.source, relation, select, undefined),
    replyField: { ...base, kind: 'object', children: replyFields, target },
    cost: variables => 1 + cost(variables),
  }
}

function planMany(
  context: PlanContext,
  request: FieldRequest,
  relation: ToMany | ManyToMany,
  target: Collection,
): PlannedMember {
  const { list, select, replyField, cost } = planList(context, request, target)
  return { selected: relationSelected(replyField.source, relation.name, select, list), replyField, cost }
}
