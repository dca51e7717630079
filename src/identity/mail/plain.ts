/** The plain part of a mail. */
import type { Facts, Layout, MailParagraph, WholeContent } from './content.ts'

function block(paragraph: MailParagraph): string {
  return typeof paragraph === 'string' ? paragraph : `${paragraph.text}\n${paragraph.link}`
}

function list(facts: Facts): readonly string[] {
  return facts.length === 0 ? [] : [facts.map(([name, value]) => `${name}: ${value}`).join('\n')]
}

/** The text of a mail without markup, with its footer as a signature. */
export function plainPart(
  { paragraphs, action, facts = [], notes = [], requestFacts }: WholeContent,
  { texts, theme }: Layout,
): string {
  const blocks = [
    ...paragraphs.map(block),
    ...(action ? [`${action.label}:\n${action.link}`] : []),
    ...list(facts),
    ...notes.map(block),
    ...list(requestFacts),
    // RFC 3676, 4.3: the separator of a signature.
    `-- \n${texts.footer(theme.name)}`,
  ]
  return `${blocks.join('\n\n')}\n`
}
