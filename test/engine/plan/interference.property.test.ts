/** Hidden values do not leak: changing one changes no answer, count, order or error. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../src/base/errors.ts'
import type { Principal } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { ItemShape, ListShape, Plan, ReadShape } from '../../../src/engine/plan/plan.ts'
import type { Collection, Model } from '../../../src/model/model.ts'
import { followPath, pathsOf } from '../../../src/model/rule/paths.ts'
import type { Rule } from '../../../src/model/rule/rule.ts'
import { cases } from '../../cases.ts'
import { interpretRead } from './interpreter.ts'
import { datas, models, type Name, names, principals, readPlans } from './random.ts'
import type { Data, Row } from './reference.ts'
import { canRead, maySee } from './reference.ts'

const runs = cases(15_000, 500)

/** The exact answer or error that a caller gets. */
function answerTo(model: Model, data: Data, who: Principal, plan: Plan<ReadShape>): unknown {
  try {
    return interpretRead(data, createGuard(model)(plan as Plan<ListShape>, who)).result
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return [error.code, error.message, error.details, error.scope]
  }
}

/** The fields that rules use: a rule may depend on hidden values. */
function ruleFields(model: Model): ReadonlySet<string> {
  const names = new Set<string>()
  const collectionOf = (name: string) => {
    const target = model.collections.get(name)
    assert.ok(target)
    return target
  }
  const visitPath = (path: string, collection: Collection): void => {
    const { steps, field } = followPath(path, collection, collectionOf)
    for (const [index, { relation }] of steps.entries()) {
      names.add(`${steps[index - 1]?.target.name ?? collection.name}.${relation.field}`)
    }
    names.add(`${steps.at(-1)?.target.name ?? collection.name}.${field.name}`)
  }
  const visit = (rule: Rule, collection: Collection): void => {
    if (rule.kind === 'compare') {
      for (const path of pathsOf(rule)) visitPath(path, collection)
      if (rule.operand.kind === 'caller') names.add(`users.${rule.operand.field}`)
    } else if (rule.kind === 'not') visit(rule.part, collection)
    else if (rule.kind === 'and' || rule.kind === 'or') for (const part of rule.parts) visit(part, collection)
    else if (rule.kind === 'related') {
      const relation = collection.relations.get(rule.relation)
      const target = model.collections.get(relation?.target ?? '')
      assert.ok(relation && target)
      if (relation.kind === 'manyToMany') {
        names.add(`${relation.through}.${relation.from}`).add(`${relation.through}.${relation.to}`)
      } else names.add(`${relation.kind === 'one' ? collection.name : target.name}.${relation.field}`)
      visit(rule.rule, target)
    }
  }
  for (const collection of model.collections.values()) {
    visit(collection.access.read, collection)
    for (const field of collection.fields.values()) visit(field.access.read, collection)
  }
  return names
}

const columns: Readonly<Record<Name, readonly string[]>> = {
  users: ['name', 'level', 'boss_id', 'password_hash'],
  posts: ['title', 'note', 'rank', 'public', 'pin', 'author_id'],
  tags: ['label'],
  post_tags: ['post_id', 'tag_id'],
}

/** `data` with the values hidden from the caller replaced by those of `other`; undefined if there are none. */
function withHiddenReplaced(model: Model, data: Data, other: Data, who: Principal): Data | undefined {
  const usedByRules = ruleFields(model)
  let changed = 0
  const disguise = (name: Name, row: Row, i: number): Row => {
    const collection = model.collections.get(name)
    const strange = other[name]?.[i]
    assert.ok(collection)
    const secret = columns[name].filter(column => {
      const isReadable =
        canRead(model, data, who, collection, row) && maySee(model, data, who, collection, row, column)
      return (
        strange && !usedByRules.has(`${name}.${column}`) && !isReadable && strange[column] !== row[column]
      )
    })
    changed += secret.length
    return { ...row, ...Object.fromEntries(secret.map(column => [column, strange?.[column] ?? null])) }
  }
  const result = Object.fromEntries(
    names.map(name => [name, (data[name] ?? []).map((row, i) => disguise(name, row, i))]),
  )
  return changed > 0 ? result : undefined
}

test('values hidden from a caller do not influence the answers', () => {
  let compared = 0
  const plans = fc.array(readPlans, { minLength: 2, maxLength: 4 })
  const property = fc.property(
    models,
    datas,
    datas,
    principals,
    plans,
    (model, data, other, who, requests) => {
      const strange = withHiddenReplaced(model, data, other, who)
      if (!strange) return
      compared++
      for (const plan of requests) {
        assert.deepEqual(answerTo(model, strange, who, plan), answerTo(model, data, who, plan))
      }
    },
  )
  fc.assert(property, runs)
  assert.ok(compared > runs.numRuns / 2, `${compared} pairs compared`)
})

test('a field that the caller may not read behaves like an unknown field everywhere', () => {
  let compared = 0
  const property = fc.property(models, datas, principals, readPlans, (model, data, who, plan) => {
    if (who.access.system) return
    const hidden = { ...plan, shape: renameField(plan.shape, 'nothing', 'password_hash') }
    const never = { ...plan, shape: renameField(plan.shape, 'password_hash', 'nothing') }
    const answers = [hidden, never].map(variant => JSON.stringify(answerTo(model, data, who, variant)))
    if (JSON.stringify(hidden) !== JSON.stringify(never)) compared++
    assert.equal(answers[0]?.replaceAll('password_hash', 'nothing'), answers[1])
  })
  fc.assert(property, runs)
  assert.ok(compared > runs.numRuns / 50, `${compared} pairs compared`)
})

/** Renames a field. Only names of fields are affected: `"field":"…"` occurs nowhere else in a shape. */
function renameField(shape: ReadShape, from: string, to: string): ItemShape | ListShape {
  const renamed = JSON.parse(JSON.stringify(shape).replaceAll(`"field":"${from}"`, `"field":"${to}"`))
  return renamed
}
