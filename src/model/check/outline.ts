/** The first look at a declaration: which collections, fields and relations there are. */
import { usersWith, idField, timeFields } from '../builtin.ts'
import type { CollectionDeclaration, CollectionOptions } from '../declaration.ts'
import type { FieldDeclaration } from '../fields/declared.ts'
import type { Relation, ToOne } from '../model.ts'

/** A collection while it is checked. */
export interface Outline {
  readonly name: string
  readonly singular: string
  readonly options: CollectionOptions
  readonly fields: ReadonlyMap<string, FieldDeclaration>
  /** Filled before rules are looked at. */
  readonly relations: Map<string, Relation>
  /** By the field that carries it. */
  readonly references: Map<string, ToOne>
  /** The names of the fields that Portico itself put there. */
  readonly builtin: ReadonlySet<string>
}

export type Outlines = ReadonlyMap<string, Outline>
