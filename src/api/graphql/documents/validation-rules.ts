/**
 * The validation rules of graphql-js that a document can break. Each rule visits every node, so rules about syntax that
 * the document does not use are omitted: that syntax cannot be written without the characters listed here.
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

/** The syntax that a document needs to break a rule: any one of the texts. Every document can break a rule that is not listed. */
const syntaxOf = new Map<ValidationRule, readonly string[]>([
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

/** `checkMerging` replaces the rule of graphql-js, which compares all pairs of fields: 2,000 tokens can take it seconds. */
const allRules = specifiedRules.filter(rule => rule !== OverlappingFieldsCanBeMergedRule)

/** In the order of graphql-js, which is also the order of the errors. */
export function rulesFor(source: string, introspection: boolean): readonly ValidationRule[] {
  const applicable = allRules.filter(rule => syntaxOf.get(rule)?.some(text => source.includes(text)) ?? true)
  return introspection ? applicable : [...applicable, NoSchemaIntrospectionCustomRule]
}
