/** The plain part of a mail. */
import type { LayoutTexts, MailContent, MailParagraph } from './content.ts'

function block(paragraph: MailParagraph): string {
  return typeof paragraph === 'string' ? paragraph : `${paragraph.text}\n${paragraph.link}`
}

export function plainPart(
  { paragraphs, action, facts = [], notes = [] }: MailContent,
  { footer }: LayoutTexts,
  service: string,
): string {
  const blocks = [
    ...paragraphs.map(block),
    ...(action ? [`${action.label}:\n${action.link}`] : []),
    ...(facts.length > 0 ? [facts.map(([name, value]) => `${name}: ${value}`).join('\n')] : []),
    ...notes.map(block),
    // RFC 3676, 4.3: what follows is a signature.
    `-- \n${footer(service)}`,
  ]
  return `${blocks.join('\n\n')}\n`
}
