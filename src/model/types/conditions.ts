/** Filter conditions on fields, by the type of their values. */

type HasEqualityOnly<Value> = [Value] extends [string] ? ([string] extends [Value] ? false : true) : true

interface Equality<Value> {
  readonly eq?: Value | null
  readonly ne?: Value | null
  readonly in?: readonly Value[]
  readonly null?: boolean
}

interface Order<Value> {
  readonly gt?: Value
  readonly gte?: Value
  readonly lt?: Value
  readonly lte?: Value
}

interface TextSearch {
  readonly contains?: string
  readonly icontains?: string
  readonly starts_with?: string
}

type OperatorsFor<Value> = [Value] extends [boolean]
  ? Equality<Value>
  : [Value] extends [number]
    ? Equality<Value> & Order<Value>
    : HasEqualityOnly<Value> extends true
      ? Equality<Value>
      : Equality<Value> & Order<Value> & TextSearch

type Condition<Value> = Value | null | readonly Value[] | OperatorsFor<Value>

export type FieldCondition<Item, K extends keyof Item> = Condition<NonNullable<Item[K]>>
