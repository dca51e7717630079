import type { Option } from '../commands.ts'

export const user: Option = { value: 'email', sentence: 'Whose keys.', required: true }
