/** `singularOf` of `check/names.ts` for the compiler. A collection whose singular cannot be derived has to declare it. */

type KeepsE = 'movie' | 'cookie' | 'cache' | 'tie' | 'pie' | 'die' | 'lie'
type Vowel = 'a' | 'e' | 'i' | 'o' | 'u'

type WithoutEs<Stem extends string> = Stem extends `${string}${'ss' | 'x' | 'ch' | 'sh'}` ? Stem : `${Stem}e`

type WithoutIes<Stem extends string> = Stem extends `${string}${Vowel | '_'}` ? `${Stem}ie` : `${Stem}y`

type WithoutS<Stem extends string> = Stem extends KeepsE | `${string}_${KeepsE}` | `${string}${'a' | 'o'}use`
  ? Stem
  : Stem extends `${infer Rest}ie`
    ? WithoutIes<Rest>
    : Stem extends `${infer Rest}e`
      ? WithoutEs<Rest>
      : Stem

/** `categories` → `category`. */
export type SingularOf<Plural extends string> = Plural extends `${infer Stem}s` ? WithoutS<Stem> : Plural
