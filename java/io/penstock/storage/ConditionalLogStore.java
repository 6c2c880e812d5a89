package io.penstock.storage;

import io.delta.storage.HadoopFileSystemLogStore;
import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Delta's log in a bucket of S3: of all who write one version, in any process, exactly one does.
 *
 * <p>A commit is one PUT with {@code If-None-Match: *}; the store decides. Delta's own store for S3
 * looks first and then writes, so commits of two processes can be lost.
 */
public final class ConditionalLogStore extends HadoopFileSystemLogStore {
    private static final String ONLY_IF_ABSENT = "fs.option.create.conditional.overwrite";

    public ConditionalLogStore(Configuration conf) {
        super(conf);
    }

    @Override
    public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration conf)
            throws IOException {
        FileSystem files = path.getFileSystem(conf);
        byte[] content = joined(actions);
        if (overwrite) {
            put(files.createFile(path).recursive().overwrite(true), content);
            return;
        }
        try {
            FSDataOutputStreamBuilder<?, ?> builder = files.createFile(path).recursive();
            builder.must(ONLY_IF_ABSENT, true);
            put(builder, content);
        } catch (IOException error) {
            byte[] there = read(files, path);
            if (there == null) {
                throw error;
            }
            // A try whose answer was lost is repeated below us, and then meets its own file. Each
            // commit has an id of its own, so equal content is the same commit.
            if (!Arrays.equals(there, content)) {
                FileAlreadyExistsException exists =
                        new FileAlreadyExistsException(path.toString());
                exists.initCause(error);
                throw exists;
            }
        }
    }

    @Override
    public Boolean isPartialWriteVisible(Path path, Configuration conf) {
        return false;
    }

    private static byte[] joined(Iterator<String> actions) {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        while (actions.hasNext()) {
            content.writeBytes((actions.next() + "\n").getBytes(StandardCharsets.UTF_8));
        }
        return content.toByteArray();
    }

    private static void put(FSDataOutputStreamBuilder<?, ?> builder, byte[] content)
            throws IOException {
        FSDataOutputStream out = builder.build();
        try {
            out.write(content);
        } catch (IOException | RuntimeException error) {
            out.abort(); // closing it would write what there is
            throw error;
        }
        out.close();
    }

    private static byte[] read(FileSystem files, Path path) throws IOException {
        try (FSDataInputStream in = files.open(path)) {
            return in.readAllBytes();
        } catch (FileNotFoundException error) {
            return null;
        }
    }
}
