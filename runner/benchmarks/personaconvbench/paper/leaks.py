"""What a reader must know of the paper protocol's numbers: kept on purpose, because they are what was published."""

CAUTION = "paper protocol: known leaks, see docs/how-it-works.md#paper"

KNOWN_LEAKS: tuple[str, ...] = (
    "3.1 and 3.2 send no conversation: a summary of the post and 100 characters of the parent stand for "
    "it, and the data store that the prompts speak of is never sent.",
    "3.1 and 3.2 p-conv show the label or score of a reply by the same author under the same post; in 3.2 "
    "it bounds the answer, because the target is by construction the most extreme reply.",
    "p-nonconv of 3.1 and 3.3 has no example and that of 3.2 a fixed one, so a gain of p-conv mixes the "
    "example with the conversation.",
    "3.2 tells the sign of the true score in every prompt.",
    "Scores in the prompts (of the post, the parent, the example) are final values: information from after the reply.",
    "3.3 p-conv can print the reference text: the example's tree keeps its other branches, where the target may be.",
    "3.3 p-conv shows comments later than the target, and replies that may quote it.",
    "Selection looks at the outcome: one reply per post, the one of the largest |score|, from 4 up, "
    "without the lower half of the positives.",
    "The label of 3.1 is the sign of the votes, not a sentiment; replies with few votes never appear.",
    "np-conv changes more than the history: in 3.1 and 3.2 it adds the whole parent with its score and "
    "time, in 3.3 it has another test set and drops the post.",
    "np-conv's other post is a shift by 200 in a list: it can be of the same author, or the very post "
    "(always in 3.2 where the number of samples divides 200, and in 3.3 where that of posts does; the "
    "answer is then in the prompt).",
    "No setting holds history from other posts: p-conv means other replies under the same post.",
    "Answers that cannot be read leave every metric; 3.3 counts the best of n answers, chosen by the "
    "reference text, and leaves zeros out.",
    "3.3 prompts hold an unfilled placeholder and call a post a comment; some prompts claim that a score is hidden.",
    "Names of users and links are sent as they are.",
    "The first n instances are of one class in 3.1 and 3.2: the negatives stand first.",
)
