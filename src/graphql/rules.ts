/**
 * Which of graphql-js's validation rules a document could break. Each rule is asked at every node, so those about
 * what the document does not hold are left out: what they would look for cannot be written without these signs.
 */
import {
  DeferStreamDirectiveLabelRule,
  DeferStreamDirectiveOnRootFieldRule,
  DeferStreamDirectiveOnValidOperationsRule,
  FragmentsOnCompositeTypesRule,
  KnownArgumentNamesRule,
  KnownDirectivesRule,
  KnownFragmentNamesRule,
  KnownTypeNamesRule,
  NoFragmentCyclesRule,
  NoSchemaIntrospectionCustomRule,
  NoUndefinedVariablesRule,
  NoUnusedFragmentsRule,
  NoUnusedVariablesRule,
  OverlappingFieldsCanBeMergedRule,
  PossibleFragmentSpreadsRule,
  SingleFieldSubscriptionsRule,
  StreamDirectiveOnListFieldRule,
  specifiedRules,
  UniqueArgumentNamesRule,
  UniqueDirectivesPerLocationRule,
  UniqueFragmentNamesRule,
  UniqueInputFieldNamesRule,
  UniqueVariableNamesRule,
  type ValidationRule,
  ValuesOfCorrectTypeRule,
  VariablesAreInputTypesRule,
  VariablesInAllowedPositionRule,
} from 'graphql'

/** A rule that is not here can be broken by any document. Any of the signs is enough. */
const signs = new Map<ValidationRule, readonly string[]>([
  ...[
    KnownDirectivesRule,
    UniqueDirectivesPerLocationRule,
    DeferStreamDirectiveOnRootFieldRule,
    DeferStreamDirectiveOnValidOperationsRule,
    DeferStreamDirectiveLabelRule,
    StreamDirectiveOnListFieldRule,
  ].map(rule => [rule, ['@']] as const),
  ...[
    VariablesAreInputTypesRule,
    UniqueVariableNamesRule,
    NoUndefinedVariablesRule,
    NoUnusedVariablesRule,
    VariablesInAllowedPositionRule,
  ].map(rule => [rule, ['$']] as const),
  ...[
    FragmentsOnCompositeTypesRule,
    UniqueFragmentNamesRule,
    KnownFragmentNamesRule,
    NoUnusedFragmentsRule,
    PossibleFragmentSpreadsRule,
    NoFragmentCyclesRule,
  ].map(rule => [rule, ['...', 'fragment']] as const),
  ...[
    KnownArgumentNamesRule,
    UniqueArgumentNamesRule,
    ValuesOfCorrectTypeRule,
    UniqueInputFieldNamesRule,
  ].map(rule => [rule, ['(']] as const),
  [KnownTypeNamesRule, ['...', 'fragment', '$']],
  [SingleFieldSubscriptionsRule, ['subscription']],
])

/**
 * Fields that merge are checked by `checkMerging`: the rule of graphql-js compares every field with every other,
 * which a document of 2,000 tokens can make take seconds.
 */
const all = specifiedRules.filter(rule => rule !== OverlappingFieldsCanBeMergedRule)

/** In the order of graphql-js, which is the order of its errors. */
export function rulesFor(source: string, introspection: boolean): readonly ValidationRule[] {
  const rules = all.filter(rule => signs.get(rule)?.some(sign => source.includes(sign)) ?? true)
  return introspection ? rules : [...rules, NoSchemaIntrospectionCustomRule]
}
