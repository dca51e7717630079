/** Patches of JSON documents, merged into the stored documents (RFC 7396, 2). */
import { isObject } from '../../../base/json.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import type { Field } from '../../../model/model.ts'
import { requireDocuments } from '../../../model/validate.ts'
import type { GuardedAssignment, GuardedPlan } from '../../plan/guarded.ts'
import { conditionSql } from '../sql/condition.ts'
import type { RowAlias } from '../sql/row-alias.ts'
import { type Sql, sql } from '../sql/writer.ts'
import type { ResultRow, SqlValue } from '../values.ts'

function memberOf(members: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(members, name) ? Reflect.get(members, name) : undefined
}

function setMember(members: JsonObject, name: string, value: JsonValue): void {
  // Assigning it would set the prototype.
  if (name !== '__proto__') Reflect.set(members, name, value)
  else Object.defineProperty(members, name, { value, writable: true, enumerable: true, configurable: true })
}

/**
 * The algorithm of RFC 7396, 2. A member named `__proto__` is like any other. Changes `target`: copying an object with very many
 * members takes several times as long as merging into it.
 */
export function mergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isObject(patch)) return patch
  const merged: JsonObject = isObject(target) ? target : {}
  for (const name of Object.keys(patch)) {
    const value = memberOf(patch, name) ?? null
    if (value === null) Reflect.deleteProperty(merged, name)
    else setMember(merged, name, isObject(value) ? mergePatch(memberOf(merged, name), value) : value)
  }
  return merged
}

/** The result of a patch, which replaces the assignment's value. */
export interface MergedDocument {
  /** Which of the assignments. */
  readonly index: number
  readonly field: Field
  readonly value: JsonValue
  readonly text: string
  readonly before: number
  readonly changed: boolean
}

/** The outputs of the stored row that `mergedDocuments` needs: two for each assignment that merges. */
export function documentOutputs(set: readonly GuardedAssignment[], row: RowAlias): Sql[] {
  return set.flatMap(assignment => (assignment.merges ? storedValueSql(assignment, row) : []))
}

/** The stored value of an assignment's field as JSON text, and whether it is hidden from the caller. */
export function storedValueSql({ field, readableWhen }: GuardedAssignment, row: RowAlias): Sql[] {
  const hidden =
    readableWhen === undefined ? sql`FALSE` : sql`(${conditionSql(readableWhen, row)}) IS NOT TRUE`
  return [row.dialect.text(row.dialect.json(row.column(field.name), field)), hidden]
}

/** The stored documents with the plan's patches applied. Their outputs begin `at`. */
export function mergedDocuments(
  set: readonly GuardedAssignment[],
  { args }: GuardedPlan,
  stored: ResultRow,
  at: number,
): readonly MergedDocument[] {
  let next = at
  return set.flatMap(({ field, value, merges }, index) => {
    if (!merges) return []
    const [text, hidden] = [stored[next], stored[next + 1]]
    next += 2
    const patch = value.kind === 'param' ? args[value.param] : undefined
    return isObject(patch) ? [mergedDocument(index, field, patch, text, hidden === 1)] : []
  })
}

function mergedDocument(
  index: number,
  field: Field,
  patch: JsonValue,
  stored: SqlValue | undefined,
  hidden: boolean,
): MergedDocument {
  const target: JsonValue = typeof stored === 'string' ? JSON.parse(stored) : null
  const before = JSON.stringify(target)
  const value = mergePatch(target, patch)
  const text = JSON.stringify(value)
  return { index, field, value, text, before: before.length, changed: hidden || text !== before }
}

/** In characters. Patches cannot make a document longer; one that was stored longer may shrink. */
const maxDocumentLength = 1_048_576

/** Throws VALIDATION_FAILED unless every changed document fits its field. */
export function requireFit(documents: readonly MergedDocument[]): void {
  const changedDocuments = documents.filter(document => document.changed)
  if (changedDocuments.length === 0) return
  requireDocuments(
    changedDocuments.map(({ field, value, text, before }) => {
      return {
        field,
        value,
        maxLength: text.length > Math.max(before, maxDocumentLength) ? maxDocumentLength : undefined,
      }
    }),
  )
}
